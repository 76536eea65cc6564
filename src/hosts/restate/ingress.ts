import { request as plain } from "node:http";
import { request as secure } from "node:https";
import { type Clock, EngineError, systemClock, systemEntropy, type Entropy } from "../../core/contract/index.ts";
import { hasOwn } from "../../core/contract/internal.ts";
import type { Handler } from "./durable-context.ts";
import { PIECE_BYTES } from "./sizes.ts";
import { isObject } from "./handler-inputs.ts";
import { isUp } from "./server-health.ts";
import { errorFrom, isGuarded } from "./outcome.ts";

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

/** How long to wait before each further attempt, without end. */
export function* retryPauses(): Generator<number, never> {
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, MAX_PAUSE_MS)) yield ms;
}

/**
 * The servers of a cluster learn of a deployment one after another: some 100 ms after its registration, one may not know a handler yet. So a
 * call that was refused with `ENGINE_MISSING`, which did nothing, is sent again so often: with these pauses, for some two seconds.
 */
export const UNKNOWN_RETRIES = 5;

export const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));

/** One call of one handler of one virtual object, or of a service. */
export interface Invocation extends Handler {
  /** JSON. */
  readonly input: unknown;
  /** The server runs a call once for each key, and answers later ones with the first one's outcome, while its retention lasts. */
  readonly idempotencyKey?: string;
}

/** A request on its way. */
export interface PendingRequest {
  /** Throws `OUTCOME_UNKNOWN` where it cannot be known what became of the call. */
  readonly answer: Promise<unknown>;
  /** Waits no longer: `answer` throws `OUTCOME_UNKNOWN`, the server goes on. */
  readonly abandon: () => void;
}

/** Makes one request. `begin`: the server answers with the invocation's name as soon as it has durably taken the call. */
export type Send = (invocation: Invocation, how?: "begin") => PendingRequest;

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
    if (length > PIECE_BYTES) return { answer: Promise.reject(requestTooLong(length)), abandon: () => undefined };
    const { idempotencyKey } = invocation;
    // A list goes out as it is; an object's names and values are each looked at again.
    const headers = ["host", host, "content-type", "application/json", "content-length", String(length)];
    if (idempotencyKey !== undefined) headers.push("idempotency-key", idempotencyKey);
    const outgoing = request({ ...address, path: how === "begin" ? `${pathOf(invocation)}/send` : pathOf(invocation), headers });
    const answer = new Promise<unknown>((resolve, reject) => {
      const failed = (error: unknown): void => reject(connectionLost(error));
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
    return { answer, abandon: () => outgoing.destroy(new Error("Nobody waits any longer.")) };
  };
}

const pathOf = ({ object, key, handler }: Handler): string =>
  key === undefined ? `/${object}/${handler}` : `/${object}/${encodeURIComponent(key)}/${handler}`;

/** It might come to the server, and then to no node. */
const requestTooLong = (length: number): EngineError =>
  new EngineError("NOT_APPLIED", `This call has ${length} bytes, and the Restate server takes at most ${PIECE_BYTES}: send less at once.`);

export const connectionLost = (cause: unknown): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    "The Restate server went away during the call: call again with the same key to learn what became of it.",
    {
      applied: "unknown",
      cause,
    },
  );

function refused(status: number, text: string): EngineError {
  const excerpt = text.slice(0, 500);
  if (status === 409) return new EngineError("CANCELLED", "The invocation was cancelled before it was applied.");
  if (status === 404)
    return new EngineError(
      "ENGINE_MISSING",
      `The Restate server knows no such handler: register the deployment first. It said: ${excerpt}`,
    );
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return new EngineError("NOT_APPLIED", `The Restate server does not take this call (${status}): ${excerpt}`);
  // Not told apart further: a handler's own outcome always arrives with status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${excerpt}`, { applied: "unknown" });
}

export interface IngressOptions {
  readonly base: string;
  /** By which the server is tried again. */
  readonly clock: Clock;
  /** For how long. */
  readonly patienceMs: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

/** Longer than this no call is sent again: the server must remember each one's key for longer, and of every call. */
export const MAX_PATIENCE_MS = 60_000;
/** Without an answer for this long, the server is asked whether it is up. */
const ATTEMPT_MS = 15_000;
const PROBE_MS = 3_000;
/** The server is away, or does not know the handler yet. */
const RETRIED_CODES: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING"]);

/** Calls handlers, again while the server is away: only those that may be called twice, by their idempotency key or by what they do. */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #send: Send;

  constructor(options: IngressOptions) {
    this.#options = { ...options, patienceMs: Math.min(options.patienceMs, MAX_PATIENCE_MS) };
    this.#send = sendTo(options.base, options.onAnswer);
  }

  /** Throws `OUTCOME_UNKNOWN` where it cannot be known what became of it. */
  invoke(invocation: Invocation): Promise<unknown> {
    return this.#retry(() => this.#send(invocation));
  }

  /** Settles when the server has durably taken the call, with the invocation's name: the one of that idempotency key, where there is one. */
  async begin(invocation: Invocation): Promise<string> {
    const answer = await this.#retry(() => this.#send(invocation, "begin"));
    if (isObject(answer) && typeof answer["invocationId"] === "string") return answer["invocationId"];
    throw connectionLost(undefined);
  }

  /** What the server does may take long, so patience counts from when it does not answer at all. */
  async #retry(send: () => PendingRequest): Promise<unknown> {
    const { clock, patienceMs } = this.#options;
    let givesUpAt: number | undefined;
    let unknown = 0;
    let waits = retryPauses();
    for (;;) {
      let silent = false;
      const { answer, abandon: leave } = send();
      const undo = clock.after(ATTEMPT_MS, () => {
        silent = true;
        leave();
      });
      try {
        return await answer;
      } catch (error) {
        // It is asked anew for the same invocation: one that hangs, or a network that was cut, says nothing by itself.
        if (silent && (await isUp(this.#options.base, PROBE_MS))) {
          givesUpAt = undefined;
          waits = retryPauses();
          continue;
        }
        if (!(error instanceof EngineError && RETRIED_CODES.has(error.code))) throw error;
        if (error.code === "ENGINE_MISSING" && (unknown += 1) > UNKNOWN_RETRIES) throw error;
        const { value: pauseMs } = waits.next();
        givesUpAt ??= clock.now() + patienceMs;
        if (clock.now() + pauseMs > givesUpAt) throw error;
        await wait(clock, pauseMs);
      } finally {
        undo();
      }
    }
  }
}

export interface RetryingIngressOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long a call waits, and is sent again while the server is away, in all. At most 5 minutes. Default 60 s. */
  readonly patienceMs?: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

type Call = Omit<Invocation, "idempotencyKey">;

/** Half of what the server remembers a write's key for. */
const MAX_WAIT_MS = 300_000;
/** The server is away, does not know the handler yet, or pages changed with every attempt to read them. */
const RETRIED_OR_CONFLICT: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING", "STORE_CONFLICT"]);

/** Calls handlers that answer a `Guarded`, until it is known what became of it. Throws `EngineError`. */
export class RetryingIngress {
  readonly #send: Send;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #patienceMs: number;

  constructor({ ingress, clock = systemClock, entropy = systemEntropy, patienceMs = 60_000, onAnswer }: RetryingIngressOptions) {
    this.#send = sendTo(ingress, onAnswer);
    this.#clock = clock;
    this.#entropy = entropy;
    this.#patienceMs = Math.min(patienceMs, MAX_WAIT_MS);
  }

  /** Applied once, however often it is sent. */
  write(call: Call): Promise<unknown> {
    return this.#retry({ ...call, idempotencyKey: this.#entropy.hex(16) });
  }

  /** Sees all that was written before it. */
  read(call: Call): Promise<unknown> {
    return this.#retry(call);
  }

  now(): number {
    return this.#clock.now();
  }

  async #retry(call: Invocation): Promise<unknown> {
    const clock = this.#clock;
    const givesUpAt = clock.now() + this.#patienceMs;
    let unknown = 0;
    const waits = retryPauses();
    let over = false;
    let sent: PendingRequest | undefined;
    // A server whose node is away holds the call, and would answer with the node's return.
    const undo = clock.after(this.#patienceMs, () => {
      over = true;
      sent?.abandon();
    });
    try {
      for (;;) {
        if (over) throw noAnswerInTime(call, undefined);
        sent = this.#send(call);
        try {
          const answer = await sent.answer;
          if (!isGuarded(answer)) throw unexpectedAnswer(call);
          if (hasOwn(answer, "fault")) throw errorFrom(answer.fault);
          return answer.value;
        } catch (error) {
          if (over) throw noAnswerInTime(call, error);
          if (!(error instanceof EngineError && RETRIED_OR_CONFLICT.has(error.code))) throw error;
          if (error.code === "ENGINE_MISSING" && (unknown += 1) > UNKNOWN_RETRIES) throw error;
          const { value: pauseMs } = waits.next();
          if (clock.now() + pauseMs > givesUpAt) throw error;
          await wait(clock, pauseMs);
        }
      }
    } finally {
      undo();
    }
  }
}

export const unexpectedAnswer = ({ object }: { readonly object: string }): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    `What serves ${object} answered something else than this version understands: register the deployment that fits.`,
    { applied: "unknown" },
  );

const noAnswerInTime = ({ object }: Call, cause: unknown): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    `${object} did not answer in time: see that its nodes and the Restate server are up, then try again.`,
    {
      applied: "unknown",
      cause,
    },
  );
