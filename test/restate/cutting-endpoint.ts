import { connect, createServer } from "node:http2";
import { onLoopback } from "../on-loopback.ts";

export interface CuttingEndpoint extends AsyncDisposable {
  readonly url: string;
  /** The next answers to requests for turns are cut after so many frames each, one after the other. */
  readonly cuts: number[];
  /** Frames that answered requests for turns, of each answer. */
  readonly answered: (readonly Buffer[])[];
}

const HEAD_BYTES = 8;

/** Stands before a node as a network does that breaks: what the node says goes on until it is cut. */
export const cuttingEndpoint = async (node: string): Promise<CuttingEndpoint> => {
  const behind = connect(node);
  const cuts: number[] = [];
  const answered: (readonly Buffer[])[] = [];
  const server = createServer();
  server.on("stream", (stream, headers) => {
    const { ":authority": _, ":scheme": __, ...others } = headers;
    const onward = behind.request(others);
    stream.on("error", () => undefined);
    onward.on("error", () => undefined);
    stream.pipe(onward);
    onward.on("response", ({ ":status": status, ...said }) => stream.respond({ ":status": status ?? 500, ...said }));
    if (headers[":path"]?.endsWith("/turn") !== true) {
      onward.pipe(stream);
      return;
    }
    const cut = cuts.shift() ?? Infinity;
    const frames: Buffer[] = [];
    answered.push(frames);
    let bytes = Buffer.alloc(0);
    onward.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        const end = bytes.length < HEAD_BYTES ? Infinity : HEAD_BYTES + bytes.readUInt32BE(4);
        if (bytes.length < end || frames.length >= cut) break;
        const frame = bytes.subarray(0, end);
        bytes = bytes.subarray(end);
        frames.push(frame);
        stream.write(frame);
      }
    });
    // What came before a reset may be lost with it: so it ends too soon, and what was said counts.
    onward.on("end", () => stream.end());
  });
  const loopback = await onLoopback(server);
  return {
    url: loopback.url,
    cuts,
    answered,
    async [Symbol.asyncDispose]() {
      behind.destroy();
      await loopback[Symbol.asyncDispose]();
    },
  };
};
