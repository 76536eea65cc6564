import type { ServerResponse } from "node:http";
import type { Channel } from "../contract/index.ts";
import { asChunk, ResponseSink, type StreamDoor } from "./event-stream.ts";
import { LineChannel } from "./line-channel.ts";
import type { OpenStream } from "./open-streams.ts";

/**
 * A response as lines of JSON, each written as soon as it is sent. The head must
 * have been sent. Nothing keeps it alive: not every reader passes over an empty line.
 */
export function lineStream(response: ServerResponse, chunked: boolean, door: StreamDoor): Channel & OpenStream {
  const { limits, clock, onDrop, onEnd } = door;
  const sink = new ResponseSink(response, chunked);
  const channel = new LineChannel({
    sink: {
      write: (data) => sink.write(sink.direct && typeof data === "string" ? asChunk(data) : data),
      queued: () => sink.queued(),
      afterwards: (run) => sink.afterwards(run),
      destroy: () => sink.destroy(),
    },
    limits,
    clock,
    onDrop,
    end: () => void response.end(),
  });
  response.on("close", () => {
    channel.lose();
    onEnd(stream, response);
  });
  const stream: Channel & OpenStream = {
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
  return stream;
}
