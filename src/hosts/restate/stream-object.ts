import { EngineError } from "../../core/contract/index.ts";
import { UNTIL_DONE } from "./handler-options.ts";
import { isObject } from "./is-object.ts";
import { WRITE_KEY_MS } from "./map-object.ts";
import { Names } from "./names.ts";
import { settled } from "./outcome.ts";
import type { Defined, ExclusiveContext, RestateSdk } from "./sdk.ts";
import { append, directoryOf, RESTATE_STREAM_BOUNDS, sentAfter, type Directory, type RestateStreamBounds } from "./stream-pages.ts";

/** What the handlers take; all of them answer a `Guarded`. */
export interface StreamInputs {
  /** Without text: longer than any that is kept. `at` is the time. Answers the message's number. */
  readonly append: { readonly stream: string; readonly text?: string; readonly at: number };
  /** Answers `Sent`s, or null. */
  readonly after: { readonly stream: string; readonly n: number };
  readonly delete: null;
}

/** Sent to itself: what was there when it was sent. */
type ExpireInput = Pick<Directory, "life" | "next">;

export interface StreamObjectOptions {
  /** Before its name, where several systems share a server. Default none. */
  readonly prefix?: string;
  readonly bounds?: Partial<RestateStreamBounds>;
  /** What nobody deleted goes when nothing was sent for so long, or twice as long. Default 24 h. */
  readonly ttlMs?: number;
}

export const STREAM_NAME_LENGTH = 1_024;
const DAY_MS = 86_400_000;

/** The streams of one session per key, as the SDK serves them. */
export function streamObject(sdk: RestateSdk, { prefix, bounds, ttlMs = DAY_MS }: StreamObjectOptions = {}): Defined {
  const most: RestateStreamBounds = { ...RESTATE_STREAM_BOUNDS, ...bounds };
  const name = new Names(prefix).stream;
  const options = { enableLazyState: true, ...UNTIL_DONE };
  const writing = { ...options, idempotencyRetention: WRITE_KEY_MS };
  const { object } = sdk.handlers;
  const expireLater = (context: ExclusiveContext, { life, next }: Directory): void => {
    const parameter: ExpireInput = { life, next };
    context.genericSend({ service: name, method: "expire", key: context.key, parameter, inputSerde: sdk.serde.json, delay: ttlMs });
  };
  return sdk.object({
    name,
    handlers: {
      append: object.exclusive(writing, (context, input) =>
        settled(
          (async () => {
            const { stream, text, at } = readAppend(input);
            const fits = text !== undefined && Buffer.byteLength(text) <= most.bytes;
            const { n, directory, begun } = await append(context, most, { stream, text: fits ? text : undefined, at });
            if (begun) expireLater(context, directory);
            return n;
          })(),
        ),
      ),
      after: object.shared(options, (context, input) =>
        settled(
          (async () => {
            const { stream, n } = readAfter(input);
            return sentAfter(context, stream, n);
          })(),
        ),
      ),
      delete: object.exclusive(writing, async (context) => {
        context.clearAll();
        return settled(Promise.resolve(null));
      }),
      expire: object.exclusive(options, (context, input) =>
        settled(
          (async () => {
            const directory = await directoryOf(context);
            // One of an earlier life has a successor that counts for this one.
            if (directory === undefined || !isExpire(input) || input.life !== directory.life) return;
            if (input.next === directory.next) context.clearAll();
            else expireLater(context, directory);
          })(),
        ),
      ),
    },
  });
}

const none = (): EngineError =>
  new EngineError("BAD_ID", "This is no call of streams that this version understands: call them through their store.");

const isName = (value: unknown): value is string => typeof value === "string" && value.length <= STREAM_NAME_LENGTH;

function readAppend(input: unknown): StreamInputs["append"] {
  if (!isObject(input)) throw none();
  const { stream, text, at } = input;
  if (!isName(stream) || (text !== undefined && typeof text !== "string") || typeof at !== "number" || !Number.isSafeInteger(at) || at < 1)
    throw none();
  return { stream, at, ...(text !== undefined && { text }) };
}

function readAfter(input: unknown): StreamInputs["after"] {
  if (!isObject(input) || !isName(input["stream"]) || typeof input["n"] !== "number") throw none();
  return { stream: input["stream"], n: input["n"] };
}

const isExpire = (value: unknown): value is ExpireInput =>
  isObject(value) && typeof value["life"] === "number" && typeof value["next"] === "number";
