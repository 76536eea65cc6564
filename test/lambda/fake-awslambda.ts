// The streaming API of Lambda's Node.js runtime, which records when bytes arrive: status and headers are sent with
// the first write, as in https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html.
import { Writable } from "node:stream";
import type { AwsLambda, StreamMetadata } from "troupe/lambda";

/** Receives a response. */
export interface Receiver {
  head(metadata: StreamMetadata): void;
  bytes(chunk: Buffer): void;
  end(): void;
}

export class FakeResponseStream extends Writable {
  metadata: StreamMetadata | undefined;
  readonly #to: Receiver;
  #begun = false;

  /** `highWaterMark`: with 1, each write waits until it is consumed. */
  constructor(to: Receiver, highWaterMark = 16_384) {
    super({ highWaterMark });
    this.#to = to;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#begin();
    if (chunk.length > 0) this.#to.bytes(chunk);
    setImmediate(done);
  }

  override _final(done: () => void): void {
    // As in the runtime, a response without writes has no status.
    if (this.#begun) this.#to.end();
    done();
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (this.metadata === undefined) throw new Error("Bytes before any metadata.");
    this.#to.head(this.metadata);
  }
}

export const fakeAwsLambda: AwsLambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: {
    from(stream, metadata) {
      if (!(stream instanceof FakeResponseStream)) throw new Error("Not the stream that the handler was given.");
      stream.metadata = metadata;
      return stream;
    },
  },
};
