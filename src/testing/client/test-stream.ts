import type { Frame } from "./frames.ts";
import type { HttpAnswer, HttpCall } from "./http-call.ts";
import { isReply, parsed, type TestReply } from "./message.ts";

/** What comes back, event by event; an answer that is no stream is one event. */
export class TestStream implements AsyncIterable<Frame> {
  readonly #call: HttpCall;

  constructor(call: HttpCall) {
    this.#call = call;
  }

  /** Status and headers, as soon as they are known. */
  get answer(): Promise<HttpAnswer> {
    return this.#call.answer;
  }

  /** Settles with its reply, once nothing more comes. */
  get reply(): Promise<TestReply> {
    return replyOf(this.#call);
  }

  /** What came so far. */
  get frames(): readonly Frame[] {
    return this.#call.frames.all;
  }

  /** The client closes the connection: that cancels a modern request. A legacy one goes on, and `resume` tells the rest. */
  cancel(): void {
    this.#call.leave();
  }

  /** All of it, once nothing more comes. */
  async all(): Promise<readonly Frame[]> {
    const frames: Frame[] = [];
    for await (const frame of this) frames.push(frame);
    return frames;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    yield* this.#call.frames;
    const { streamed, body } = await this.#call.answer;
    if (!streamed && body !== "") yield { data: body };
  }
}

/** The response to the request of that call. Rejects where none came, with what came instead. */
export async function replyOf(call: HttpCall): Promise<TestReply> {
  const { status, streamed, body } = await call.done;
  const messages = call.frames.all.filter(({ event = "message" }) => event === "message");
  const texts = streamed ? messages.map(({ data }) => data) : [body];
  for (const text of texts.toReversed()) {
    const message = parsed(text);
    if (isReply(message)) return message;
  }
  const came = streamed ? `${texts.length} events without one` : `status ${status}, ${body === "" ? "no body" : body.slice(0, 500)}`;
  throw new Error(`No JSON-RPC response came: ${came}. For what is none, use \`http\`.`);
}
