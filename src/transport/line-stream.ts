import type { Channel } from "../contract/index.ts";
import { asChunk, type ResponseStreamOptions, sinkOf } from "./event-stream.ts";
import { LineChannel } from "./line-channel.ts";
import type { OpenStream } from "./open-streams.ts";

/**
 * A response as lines of JSON, each written as soon as it is sent. The head must
 * have been sent. Nothing keeps it alive: not every reader passes over an empty line.
 */
export function lineStream({ response, chunked, limits, clock, onDrop, onEnd }: ResponseStreamOptions): Channel & OpenStream {
  const sink = sinkOf(response);
  const channel = new LineChannel({
    sink: {
      ...sink,
      write: (data, flushed) => {
        const direct = chunked && response.socket !== null && typeof data === "string";
        sink.write(direct ? asChunk(data) : data, flushed);
      },
    },
    limits,
    clock,
    onDrop,
    end: () => void response.end(),
  });
  const closed = (): void => {
    channel.lose();
    onEnd();
  };
  if (response.closed) closed();
  else response.once("close", closed);
  return {
    send: (text) => channel.send(text),
    get ready() {
      return channel.ready;
    },
    get gone() {
      return channel.gone;
    },
    onReady: (run) => channel.onReady(run),
    close: () => channel.close(),
    keepAlive() {},
    evict() {
      channel.close();
      channel.lose();
    },
  };
}
