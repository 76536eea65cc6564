// Owns: what an author writes in a registry's definitions, and what a handler is given. Does not own: their checks, or when handlers run.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, CallOptions, Json, Log, Progress, TaskSupport, Viewer } from "../../core/contract/index.ts";
import type { Schema } from "../../core/schema/index.ts";
import { loggable, ON_TIMEOUT, type Timeoutable } from "../../core/contract/internal.ts";

/** What is known when an argument is completed. */
interface CompletionContext {
  /** What was typed so far. */
  readonly value: string;
  /** The other arguments, as far as they are given. */
  readonly args: JsonObject;
  readonly viewer: Viewer;
}

/** Suggests values for an argument. */
export type Complete = (context: CompletionContext) => readonly string[] | Promise<readonly string[]>;

/** Variables of a template, arguments of a prompt: all text. */
export type Texts = Readonly<Record<string, string>>;

interface Described {
  readonly description?: string;
  readonly title?: string;
  readonly icons?: readonly JsonObject[];
  /** `_meta` of the list entry. */
  readonly meta?: JsonObject;
  /** True: on; text: off, and why; false: off. Call `relist` when it changes. */
  enabled?(context: { readonly viewer: Viewer }): boolean | string;
}

/** A tool: its arguments are checked against `input` before `work`. Methods, so that one with narrower arguments fits a record. */
export interface RegistryTool<A = JsonObject> extends Described {
  readonly input?: Schema;
  readonly output?: Schema;
  readonly annotations?: JsonObject;
  /** Its call may go on after it was answered; see `Offer`. */
  readonly task?: TaskSupport;
  work(context: HandlerContext<A>): unknown;
}

/** A resource: a fixed URI, or a template whose variables arrive as arguments. */
export interface RegistryResource extends Described {
  readonly uri: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly size?: number;
  /** For a template with one variable: the values, each of which is listed as a resource. Call `relist` when they change. */
  list?(context: { readonly viewer: Viewer }): readonly string[];
  readonly complete?: Readonly<Record<string, Complete>>;
  view(context: HandlerContext<Texts>): unknown;
}

/** A prompt: `arguments` as MCP lists them (all text). */
export interface RegistryPrompt extends Described {
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  readonly complete?: Readonly<Record<string, Complete>>;
  view(context: HandlerContext<Texts>): unknown;
}

/** The tools, resources and prompts of a registry, by name. */
export interface Definitions {
  readonly tools?: Readonly<Record<string, RegistryTool>>;
  readonly resources?: Readonly<Record<string, RegistryResource>>;
  readonly prompts?: Readonly<Record<string, RegistryPrompt>>;
}

/** A tool whose arguments have the type of its schema. */
export function tool<S extends StandardSchemaV1>(
  definition: RegistryTool<StandardSchemaV1.InferOutput<S>> & { readonly input: S },
): RegistryTool {
  return definition;
}

/** What a handler has at hand. */
export interface HandlerContext<A = unknown> extends CallContext {
  /** Validated, and transformed by their schema. */
  readonly args: A;
}

/** One call of a handler, without its arguments. */
export interface CallContext {
  readonly viewer: Viewer;
  /** Aborted when the caller cancels, or time is up. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly log: Log;
  /** The client's answers to earlier `ask`s, by key. */
  readonly answers: JsonObject;
  /** Whether the client supports `elicitation`, `sampling` or `roots`. */
  readonly can: (name: string) => boolean;
  /**
   * The client's answers to these questions (made by `elicit`, `sample` or `roots`; that to a `{ method, params }` is returned as it is).
   * While some are missing, this run ends here, and starts again with them: have no side effects before it.
   */
  readonly ask: <Q extends Questions>(questions: Q) => Answers<Q>;
  /** The caller's idempotency key. A registry remembers no replies: the handler has to. */
  readonly key?: string;
  readonly trace?: JsonObject;
}

/** One request to the client, as MCP writes it. */
export interface QuestionRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** A request, and how its answer is parsed. */
interface Readable<T> {
  readonly request: QuestionRequest;
  read(answer: Json): T;
}

type Questions = Readonly<Record<string, QuestionRequest | Readable<unknown>>>;
type Answers<Q extends Questions> = { readonly [K in keyof Q]: Q[K] extends Readable<infer T> ? T : Json };

class Needs extends Error {
  readonly needs: JsonObject;
  constructor(needs: JsonObject) {
    super("The client has to answer first.");
    this.needs = needs;
  }
}

export function isNeeds(error: unknown): error is { readonly needs: JsonObject } {
  return error instanceof Needs;
}

export function contextFor(viewer: Viewer, signal: AbortSignal, options: CallOptions): CallContext & Timeoutable {
  const answers = options.answers ?? {};
  return {
    [ON_TIMEOUT]: undefined,
    viewer,
    signal,
    answers,
    progress: (done, total, text, emitted) => options.onProgress?.(done, total, text, emitted),
    log: (level, data, logger) => options.onLog?.(level, loggable(data), logger),
    can: (name) => options.can?.includes(name) === true,
    ask: askFrom(answers),
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.trace === undefined ? {} : { trace: options.trace }),
  };
}

function askFrom(answers: JsonObject): CallContext["ask"] {
  function ask<Q extends Questions>(questions: Q): Answers<Q>;
  function ask(questions: Questions): object {
    const entries = Object.entries(questions);
    const missing = entries.filter(([key]) => !Object.hasOwn(answers, key));
    if (missing.length > 0) throw new Needs(Object.fromEntries(missing.map(([key, question]) => [key, requestOf(question)])));
    return Object.fromEntries(
      entries.map(([key, question]) => {
        const answer = answers[key] ?? null;
        return [key, "read" in question ? question.read(answer) : answer];
      }),
    );
  }
  return ask;
}

function requestOf(question: QuestionRequest | Readable<unknown>): Json {
  const { method, params } = "request" in question ? question.request : question;
  return { method, params };
}
