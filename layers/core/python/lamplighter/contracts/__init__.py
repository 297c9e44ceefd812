"""What crosses a boundary: requests, messages, topics and events, in the shape others see."""
