import { request as plain } from "node:http";
import { request as secure } from "node:https";
import { EngineError } from "../../core/contract/index.ts";
import type { Handler } from "./durable-context.ts";
import { PIECE_BYTES } from "./sizes.ts";

/** One call of one handler of one virtual object, or of a service. */
export interface Invocation extends Handler {
  /** JSON. */
  readonly input: unknown;
  /** The server runs a call once for each key, and answers later ones with the first one's outcome, while its retention lasts. */
  readonly idempotencyKey?: string;
}

/** A request on its way. */
export interface Sent {
  /** Throws `OUTCOME_UNKNOWN` where it cannot be known what became of the call. */
  readonly answer: Promise<unknown>;
  /** Waits no longer: `answer` throws `OUTCOME_UNKNOWN`, the server goes on. */
  readonly leave: () => void;
}

/** Makes one request. `begin`: the server answers with the invocation's name as soon as it has durably taken the call. */
export type Send = (invocation: Invocation, how?: "begin") => Sent;

const MAX_ANSWER_BYTES = 64 * 1_048_576;

/**
 * Requests to Restate's HTTP ingress at `base`, which is taken apart once: a URL costs as much as the text of a request.
 * `onAnswer`: the server, and not what stands before it, has answered one.
 */
export function sendTo(base: string, onAnswer?: () => void): Send {
  const { protocol, hostname, port, host } = new URL(base);
  const [request, usual] = protocol === "https:" ? [secure, 443] : [plain, 80];
  const address = { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? usual : Number(port), method: "POST" };
  return (invocation, how) => {
    const body = JSON.stringify(invocation.input);
    const length = Buffer.byteLength(body);
    if (length > PIECE_BYTES) return { answer: Promise.reject(tooLong(length)), leave: () => undefined };
    const { idempotencyKey } = invocation;
    // A list goes out as it is; an object's names and values are each looked at again.
    const headers = ["host", host, "content-type", "application/json", "content-length", String(length)];
    if (idempotencyKey !== undefined) headers.push("idempotency-key", idempotencyKey);
    const outgoing = request({ ...address, path: how === "begin" ? `${pathOf(invocation)}/send` : pathOf(invocation), headers });
    const answer = new Promise<unknown>((resolve, reject) => {
      const failed = (error: unknown): void => reject(unanswered(error));
      outgoing.on("error", failed);
      outgoing.on("response", (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) response.destroy(new Error(`The answer is longer than ${MAX_ANSWER_BYTES} bytes.`));
          else chunks.push(chunk);
        });
        response.on("error", failed);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const status = response.statusCode ?? 0;
          if (status < 500) onAnswer?.();
          try {
            if (status === 200 || status === 202) resolve(text === "" ? undefined : JSON.parse(text));
            else reject(refused(status, text));
          } catch (error) {
            failed(error);
          }
        });
      });
    });
    outgoing.end(body);
    return { answer, leave: () => outgoing.destroy(new Error("Nobody waits any longer.")) };
  };
}

const pathOf = ({ object, key, handler }: Handler): string =>
  key === undefined ? `/${object}/${handler}` : `/${object}/${encodeURIComponent(key)}/${handler}`;

/** It might come to the server, and then to no node. */
const tooLong = (length: number): EngineError =>
  new EngineError("NOT_APPLIED", `This call has ${length} bytes, and the Restate server takes at most ${PIECE_BYTES}: send less at once.`);

export const unanswered = (cause: unknown): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    "The Restate server went away during the call: call again with the same key to learn what became of it.",
    {
      applied: "unknown",
      cause,
    },
  );

function refused(status: number, text: string): EngineError {
  const said = text.slice(0, 500);
  if (status === 409) return new EngineError("CANCELLED", "The invocation was cancelled before it was applied.");
  if (status === 404)
    return new EngineError("ENGINE_MISSING", `The Restate server knows no such handler: register the deployment first. It said: ${said}`);
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return new EngineError("NOT_APPLIED", `The Restate server does not take this call (${status}): ${said}`);
  // Not told apart further: a handler's own outcome always arrives with status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${said}`, { applied: "unknown" });
}
