import { isJsonObject, type Json } from "../../core/contract/index.ts";
import type { HttpCall } from "../client/http-call.ts";
import { isReply, parsed, questionIn } from "../client/messages.ts";
import { sameMessage, type SameNames } from "./differences.ts";
import type { TranscriptAnswer, TranscriptStep } from "./transcript.ts";
import { settle } from "../simulated-clock.ts";

/** The id of the question a step answers, as JSON. */
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

/** A step that was sent, beside what came of it when it was recorded. */
export class PlayedStep {
  readonly at: number;
  readonly call: HttpCall;
  /** The last wait for it. */
  came: Came = "came";
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

  /** What was to come before any further question was answered; or one that the next step answers, on whichever stream it comes. */
  async soon(answered: ReadonlySet<string>, asked: Promise<unknown> | undefined, patience: Patience): Promise<void> {
    // Who was waited for in vain is waited for again at the end.
    if (this.came !== "came") return;
    const frames = this.#frames;
    const open = frames.findIndex(({ data }) => {
      const question = questionOf(data);
      return question !== undefined && !answered.has(question);
    });
    let wanted = this.#whole(0);
    if (this.#listens) wanted = this.call.answer;
    else if (open >= 0) wanted = this.#until(open + 1);
    await this.#wait(asked === undefined ? wanted : Promise.race([wanted, asked]), patience);
  }

  /** All that was recorded. */
  async finally(patience: Patience): Promise<void> {
    await this.#wait(this.#whole(this.#frames.length), patience);
  }

  /** Settles when the question has come, where it is one of this step's stream. */
  asks(question: string): Promise<unknown> | undefined {
    const index = this.#frames.findIndex(({ data }) => questionOf(data) === question);
    return index < 0 ? undefined : this.#until(index + 1);
  }

  /** Notes what the questions that came so far are called in this run. */
  note(names: SameNames): void {
    for (const [index, { data }] of this.call.frames.all.entries()) {
      const was = this.#frames[index]?.data;
      if (was !== undefined && questionOf(was) !== undefined) sameMessage(parsed(was), parsed(data), names);
    }
  }

  get #frames(): NonNullable<TranscriptAnswer["sse_frames"]> {
    return this.#expected.sse_frames ?? [];
  }

  /** A stream without a reply was open when its recording ended. */
  #whole(frames: number): Promise<unknown> {
    const isOpen = this.#expected.sse_frames !== undefined && !this.#frames.some(({ data }) => isReply(parsed(data)));
    return isOpen ? this.#until(frames) : this.call.done;
  }

  async #until(frames: number): Promise<unknown> {
    const reached = async (): Promise<void> => {
      await this.call.answer;
      if (frames === 0) return;
      let came = 0;
      for await (const _frame of this.call.frames) if ((came += 1) === frames) return;
    };
    return Promise.race([this.call.done, reached()]);
  }

  async #wait(wanted: Promise<unknown>, patience: Patience): Promise<void> {
    this.came = await cameAbout(wanted, this.#before, patience);
  }
}

// Long enough for all that needs no time.
const ROUNDS = 50;

export interface Patience {
  /** Of real time, for each wait. */
  readonly withinMs: number;
  /** Also while nothing seems to be under way: what a worker thread does is not seen. */
  readonly always: boolean;
}

/** How it ended: `idle`, nothing will come of itself. */
export type Came = "came" | "idle" | "late";

/** Waits for it as long as this process waits for something outside itself (a request, a timer, a file) that `before` has not. */
export async function cameAbout(wanted: Promise<unknown>, before: Resources, { withinMs, always }: Patience): Promise<Came> {
  const end = performance.now() + withinMs;
  let came = false;
  let beat: NodeJS.Timeout | undefined;
  const coming = wanted.then(() => (came = true));
  // Twice in a row: between two resources of one errand there are none.
  for (let idle = 0; idle < 2; idle = always || isBusy(before) ? 0 : idle + 1) {
    await Promise.race([coming, settle(ROUNDS)]);
    if (came) return "came";
    if (performance.now() > end) return "late";
    await Promise.race([coming, new Promise<void>((resolve) => (beat = setTimeout(resolve, 1)))]);
    // One of ours, left to the next step's `before`, would hide one of the server's.
    clearTimeout(beat);
  }
  return came ? "came" : "idle";
}

/** How many there are of each. */
export type Resources = ReadonlyMap<string, number>;

/** What keeps this process alive now. */
export function resources(): Resources {
  const counts = new Map<string, number>();
  for (const one of process.getActiveResourcesInfo()) if (one !== "Immediate") counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

function isBusy(before: Resources): boolean {
  for (const [name, count] of resources()) if (count > (before.get(name) ?? 0)) return true;
  return false;
}
