// Owns: one step of a transcript that was sent again, and how long its answer is waited for. Does not own: the order of steps (replay-transcript.ts).
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import type { HttpCall } from "../client/http-call.ts";
import { isReply, parsed, questionIn } from "../client/messages.ts";
import { settle } from "../simulated-clock.ts";
import { type NameMapping, sameMessage } from "./differences.ts";
import type { TranscriptAnswer, TranscriptStep } from "./transcript.ts";

/** The id of the question that a step answers, as JSON. */
export function questionAnsweredBy({ request }: TranscriptStep): string | undefined {
  const message = request.body === undefined ? undefined : parsed(request.body.value);
  return isJsonObject(message) && message["method"] === undefined && message["id"] !== undefined
    ? JSON.stringify(message["id"])
    : undefined;
}

const questionOf = (text: string): string | undefined => {
  const message: Json | undefined = parsed(text);
  const question = isJsonObject(message) ? questionIn(message) : undefined;
  return question === undefined ? undefined : JSON.stringify(question.id);
};

/** A step that was sent again, with its recorded answer. */
export class StepReplay {
  readonly at: number;
  readonly call: HttpCall;
  /** The outcome of the last wait. */
  outcome: WaitOutcome = "done";
  readonly #expected: TranscriptAnswer;
  readonly #listens: boolean;
  readonly #before: Resources;

  constructor(at: number, { request }: TranscriptStep, expected: TranscriptAnswer, call: HttpCall, before: Resources) {
    this.at = at;
    this.call = call;
    this.#expected = expected;
    this.#listens = request.method === "GET" && call.request.headers["last-event-id"] === undefined;
    this.#before = before;
  }

  /** Waits for the events up to the first question that no step has answered yet. `question`: the one that the next step answers, on any stream. */
  async untilQuestion(answered: ReadonlySet<string>, question: Promise<unknown> | undefined, limits: WaitLimits): Promise<void> {
    // After a wait in vain, the next one is at the end.
    if (this.outcome !== "done") return;
    const frames = this.#frames;
    const open = frames.findIndex(({ data }) => {
      const id = questionOf(data);
      return id !== undefined && !answered.has(id);
    });
    let wanted = this.#whole(0);
    if (this.#listens) wanted = this.call.answer;
    else if (open >= 0) wanted = this.#until(open + 1);
    await this.#wait(question === undefined ? wanted : Promise.race([wanted, question]), limits);
  }

  /** Waits for all events that were recorded. */
  async untilEnd(limits: WaitLimits): Promise<void> {
    await this.#wait(this.#whole(this.#frames.length), limits);
  }

  /** Settles when the question has arrived. Undefined: it is not on this step's stream. */
  question(question: string): Promise<unknown> | undefined {
    const index = this.#frames.findIndex(({ data }) => questionOf(data) === question);
    return index < 0 ? undefined : this.#until(index + 1);
  }

  /** Stores the ids that questions have in this run. */
  storeNames(names: NameMapping): void {
    for (const [index, { data }] of this.call.frames.all.entries()) {
      const was = this.#frames[index]?.data;
      if (was !== undefined && questionOf(was) !== undefined) sameMessage(parsed(was), parsed(data), names);
    }
  }

  get #frames(): NonNullable<TranscriptAnswer["sse_frames"]> {
    return this.#expected.sse_frames ?? [];
  }

  /** Until so many events if the recorded stream was still open, which is one without a reply. Otherwise until the answer is complete. */
  #whole(frames: number): Promise<unknown> {
    const isOpen = this.#expected.sse_frames !== undefined && !this.#frames.some(({ data }) => isReply(parsed(data)));
    return isOpen ? this.#until(frames) : this.call.done;
  }

  async #until(frames: number): Promise<unknown> {
    const reached = async (): Promise<void> => {
      await this.call.answer;
      if (frames === 0) return;
      let count = 0;
      for await (const _frame of this.call.frames) if ((count += 1) === frames) return;
    };
    return Promise.race([this.call.done, reached()]);
  }

  async #wait(wanted: Promise<unknown>, limits: WaitLimits): Promise<void> {
    this.outcome = await waitWhileBusy(wanted, this.#before, limits);
  }
}

// Long enough for all that needs no time.
const ROUNDS = 50;

export interface WaitLimits {
  /** The longest wait, in milliseconds of real time. */
  readonly withinMs: number;
  /** Wait even if the process seems idle: what a worker thread does cannot be observed. */
  readonly always: boolean;
}

/** How a wait ended. `idle`: nothing is under way that could settle the promise. */
export type WaitOutcome = "done" | "idle" | "timeout";

/** Waits for a promise while this process has resources (requests, timers, files) that are not in `before`. */
async function waitWhileBusy(wanted: Promise<unknown>, before: Resources, { withinMs, always }: WaitLimits): Promise<WaitOutcome> {
  const end = performance.now() + withinMs;
  let done = false;
  let beat: NodeJS.Timeout | undefined;
  const coming = wanted.then(() => (done = true));
  // Twice in a row: between two resources of one operation there may be none.
  for (let idle = 0; idle < 2; idle = always || isBusy(before) ? 0 : idle + 1) {
    await Promise.race([coming, settle(ROUNDS)]);
    if (done) return "done";
    if (performance.now() > end) return "timeout";
    await Promise.race([coming, new Promise<void>((resolve) => (beat = setTimeout(resolve, 1)))]);
    // If it remained, it would count as one of the server's timers in the next step's `before`.
    clearTimeout(beat);
  }
  return done ? "done" : "idle";
}

/** Active resources by type, with their number. */
export type Resources = ReadonlyMap<string, number>;

/** The resources that keep this process alive now. */
export function resources(): Resources {
  const counts = new Map<string, number>();
  for (const one of process.getActiveResourcesInfo()) if (one !== "Immediate") counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

function isBusy(before: Resources): boolean {
  for (const [name, count] of resources()) if (count > (before.get(name) ?? 0)) return true;
  return false;
}
