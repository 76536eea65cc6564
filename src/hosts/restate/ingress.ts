// Owns: calls of handlers through the server's HTTP ingress, and when they are retried. Does not own: whether the server is lost
// (server-health.ts).
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

/** The pauses between attempts, without end. */
export function* retryPauses(): Generator<number, never> {
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, MAX_PAUSE_MS)) yield ms;
}

/**
 * How often a call that was refused with `ENGINE_MISSING`, which did nothing, is retried: with these pauses, for some two seconds. The
 * servers of a cluster learn of a deployment one after another, so for some 100 ms after its registration one may not know a handler yet.
 */
const UNKNOWN_RETRIES = 5;

export const wait = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));

/** A call of a handler of a virtual object, or of a service. */
export interface Invocation extends Handler {
  /** JSON. */
  readonly input: unknown;
  /** While its retention lasts, the server runs one call per key and answers later ones with its outcome. */
  readonly idempotencyKey?: string;
}

/** A request in flight. */
export interface PendingRequest {
  /** Throws `OUTCOME_UNKNOWN` if the outcome of the call is not known. */
  readonly answer: Promise<unknown>;
  /** Stops waiting: `answer` throws `OUTCOME_UNKNOWN`, and the server continues. */
  readonly abandon: () => void;
}

/** Makes one request. `begin`: the server answers with the invocation's id as soon as the call is durable. */
export type Send = (invocation: Invocation, how?: "begin") => PendingRequest;

const MAX_ANSWER_BYTES = 64 * 1_048_576;

/**
 * Requests to Restate's HTTP ingress at `base`, which is parsed once: a URL costs as much as the text of a request. `onAnswer` is called
 * when the server, and not a proxy, has answered.
 */
export function sendTo(base: string, onAnswer?: () => void): Send {
  const { protocol, hostname, port, host, pathname } = new URL(base);
  const below = pathname.replace(/\/+$/, "");
  const [request, usual] = protocol === "https:" ? [secure, 443] : [plain, 80];
  const address = { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? usual : Number(port), method: "POST" };
  return (invocation, how) => {
    const body = JSON.stringify(invocation.input);
    const length = Buffer.byteLength(body);
    if (length > PIECE_BYTES) return { answer: Promise.reject(requestTooLong(length)), abandon: () => undefined };
    const { idempotencyKey } = invocation;
    // Node sends an array of headers as it is; it validates each name and value of an object again.
    const headers = ["host", host, "content-type", "application/json", "content-length", String(length)];
    if (idempotencyKey !== undefined) headers.push("idempotency-key", idempotencyKey);
    const outgoing = request({ ...address, path: `${below}${pathOf(invocation)}${how === "begin" ? "/send" : ""}`, headers });
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

/** The server might accept it, and no node could. */
const requestTooLong = (length: number): EngineError =>
  new EngineError("NOT_APPLIED", `This call has ${length} bytes, and the Restate server takes at most ${PIECE_BYTES}: send less at once.`);

const connectionLost = (cause: unknown): EngineError =>
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
  // No further cases: the outcome of a handler always has status 200.
  return new EngineError("OUTCOME_UNKNOWN", `The Restate server answered ${status}: ${excerpt}`, { applied: "unknown" });
}

export interface IngressOptions {
  readonly base: string;
  /** The clock of retries. */
  readonly clock: Clock;
  /** How long a call is retried. */
  readonly patienceMs: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

/** No call is retried for longer: the server must remember the key of every call for longer than that. */
export const MAX_PATIENCE_MS = 60_000;
/** After this time without an answer, the health of the server is checked. */
const ATTEMPT_MS = 15_000;
const PROBE_MS = 3_000;
/** The server is away, or does not know the handler yet. */
const RETRIED_CODES: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING"]);

/**
 * Calls handlers, and retries while the server is away. Only for calls that may be repeated, by their idempotency key or by what they do.
 */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #send: Send;

  constructor(options: IngressOptions) {
    this.#options = { ...options, patienceMs: Math.min(options.patienceMs, MAX_PATIENCE_MS) };
    this.#send = sendTo(options.base, options.onAnswer);
  }

  /** Throws `OUTCOME_UNKNOWN` if the outcome of the call is not known. */
  invoke(invocation: Invocation): Promise<unknown> {
    return this.#retry(() => this.#send(invocation));
  }

  /** Settles when the call is durable, with the invocation's id: that of the first call with the same idempotency key, if there was one. */
  async begin(invocation: Invocation): Promise<string> {
    const answer = await this.#retry(() => this.#send(invocation, "begin"));
    if (isObject(answer) && typeof answer["invocationId"] === "string") return answer["invocationId"];
    throw connectionLost(undefined);
  }

  /** A call may take long, so the time limit starts when the server does not answer at all. */
  async #retry(send: () => PendingRequest): Promise<unknown> {
    const { clock, patienceMs } = this.#options;
    let givesUpAt: number | undefined;
    let unknown = 0;
    let waits = retryPauses();
    for (;;) {
      let silent = false;
      const { answer, abandon } = send();
      const undo = clock.after(ATTEMPT_MS, () => {
        silent = true;
        abandon();
      });
      try {
        return await answer;
      } catch (error) {
        // The same invocation is requested again: a call that hangs, or a cut connection, tells nothing by itself.
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

export interface GuardedIngressOptions {
  /** URL of the server's HTTP ingress. */
  readonly ingress: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long a call waits and is retried in all, while the server is away. At most 5 minutes. Default 60 s. */
  readonly patienceMs?: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

type Call = Omit<Invocation, "idempotencyKey">;

/** Half of the time for which the server remembers a write's key. */
const MAX_WAIT_MS = 300_000;
/** The server is away, does not know the handler yet, or pages changed during every attempt to read them. */
const RETRIED_OR_CONFLICT: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING", "STORE_CONFLICT"]);

/** Calls handlers that answer a `Guarded`, until the outcome is known. Throws `EngineError`. */
export class GuardedIngress {
  readonly #send: Send;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #patienceMs: number;

  constructor({ ingress, clock = systemClock, entropy = systemEntropy, patienceMs = 60_000, onAnswer }: GuardedIngressOptions) {
    this.#send = sendTo(ingress, onAnswer);
    this.#clock = clock;
    this.#entropy = entropy;
    this.#patienceMs = Math.min(patienceMs, MAX_WAIT_MS);
  }

  /** Applied once, however often it is sent. */
  write(call: Call): Promise<unknown> {
    return this.#retry({ ...call, idempotencyKey: this.#entropy.hex(16) });
  }

  /** Sees everything that was written before it. */
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
    // A server whose node is away holds the call, and would answer when the node returns.
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
