// BullMQ: one process with a few workers, finished jobs kept. The commands
// and the marks are those of ../protocol.py.
import fs from "node:fs";
import { Queue, Worker } from "bullmq";
import IORedis from "ioredis";

const QUEUE = "bench";
const BATCH = 1000;
const CONNECTIONS = 32;
const WORKERS = 4;
const CONCURRENCY = 50;
const DAY = 86400;

const connect = () => new IORedis(process.env.PEER_URL, { maxRetriesPerRequest: null });
const job = (due) => ({
  name: "note",
  data: due,
  opts: { delay: Math.max(0, Math.round(1000 * due - Date.now())) },
});

async function enqueue(first, rate, jobs) {
  const queue = new Queue(QUEUE, { connection: connect() });
  for (let start = 0; start < jobs; start += BATCH) {
    const length = Math.min(BATCH, jobs - start);
    const due = (n) => (rate ? first + (start + n) / rate : first);
    await queue.addBulk(Array.from({ length }, (_, n) => job(due(n))));
  }
}

async function submit(seconds, size) {
  const due = Date.now() / 1000 + DAY;
  const began = performance.now();
  const end = began + 1000 * seconds;
  let submitted = 0;
  const one = async () => {
    const queue = new Queue(QUEUE, { connection: connect() });
    while (performance.now() < end) {
      if (size === 1) await queue.add("note", due, job(due).opts);
      else await queue.addBulk(Array.from({ length: size }, () => job(due)));
      submitted += size;
    }
  };
  await Promise.all(Array.from({ length: size === 1 ? CONNECTIONS : 1 }, one));
  console.log((1000 * submitted) / (performance.now() - began));
}

function work() {
  const book = fs.openSync(process.env.PEER_MARKS, "a");
  const mark = Buffer.alloc(16);
  const note = async ({ data: due }) => {
    mark.writeDoubleLE(due, 0);
    mark.writeDoubleLE((performance.timeOrigin + performance.now()) / 1000, 8);
    fs.writeSync(book, mark);
  };
  for (let n = 0; n < WORKERS; n++) {
    new Worker(QUEUE, note, { connection: connect(), concurrency: CONCURRENCY });
  }
}

const [command, ...numbers] = process.argv.slice(2);
const commands = { prepare: async () => {}, enqueue, submit, work };
await commands[command](...numbers.map(Number));
if (command !== "work") process.exit(0);
