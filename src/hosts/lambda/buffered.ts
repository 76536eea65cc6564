// Owns: `bufferedHandler`, for platforms that take complete answers. Does not own: the way to a response (serve-event.ts).
import { checkOptions, untilAborted } from "../../core/contract/index.ts";
import type { HttpEvent, LambdaContext } from "./event.ts";
import { LAMBDA_OPTIONS, type LambdaOptions, type LambdaServer } from "./options.ts";
import { LambdaRefusal } from "./refusals.ts";
import { EventServer, headOf, type ServedEvent } from "./serve-event.ts";

/**
 * For REST APIs, HTTP APIs, function URLs and load balancers that take complete answers: progress arrives together with the reply. An
 * answer over 6 MiB (1 MiB for a load balancer) is an error. Throws `BAD_OPTION`.
 */
export function bufferedHandler(
  given: LambdaServer,
  options: LambdaOptions = {},
): (event: unknown, context?: LambdaContext) => Promise<LambdaAnswer> {
  checkOptions("bufferedHandler", options, LAMBDA_OPTIONS);
  const server = new EventServer(given, options);
  return async (event, context) => {
    const served = await server.serve(event, context, "none");
    const { httpEvent, response } = served;
    try {
      return answerOf(response, await whole(served, httpEvent?.method === "HEAD"), httpEvent);
    } catch (error) {
      return answerOf(...(await refused(server.refusal(error, httpEvent).response())), httpEvent);
    } finally {
      served.end();
    }
  };
}

const refused = async (response: Response): Promise<[Response, Uint8Array]> => [response, new Uint8Array(await response.arrayBuffer())];

async function whole({ httpEvent, response, signal }: ServedEvent, head: boolean): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const max = answerMax(httpEvent);
  const reader = response.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  if (head) {
    leave();
    return new Uint8Array();
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await untilAborted(signal, () => reader.read());
      if (done) return Buffer.concat(chunks, size);
      size += value.byteLength;
      if (size > max) throw tooLarge(max);
      chunks.push(value);
    }
  } catch (error) {
    leave();
    throw error;
  }
}

/** What a buffered function returns. */
export interface LambdaAnswer {
  readonly statusCode: number;
  /** To a load balancer: `200 OK`. */
  readonly statusDescription?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly cookies?: readonly string[];
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

const MIB = 1_048_576;
/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html, and of load balancers the page on Lambda targets. */
const ANSWER_MAX = { rest: 6 * MIB, http: 6 * MIB, alb: MIB };
/** The most bytes that one byte takes in JSON: a control character is `\u0000`. */
const ESCAPED_MAX = 6;

const TEXT = /^(?:text\/|application\/(?:json|javascript|xml|x-www-form-urlencoded|[^;]*\+(?:json|xml))\s*(?:;|$))/i;

const answerMax = (httpEvent: HttpEvent | undefined): number => ANSWER_MAX[httpEvent?.kind ?? "http"];

const tooLarge = (max: number): LambdaRefusal =>
  new LambdaRefusal(
    "ANSWER_TOO_LARGE",
    `A buffered answer may have ${max / MIB} MiB: answer less at once, or stream (streamingHandler). What was asked may have been done.`,
  );

/** Throws `ANSWER_TOO_LARGE`. */
function answerOf(response: Response, bytes: Uint8Array, httpEvent: HttpEvent | undefined): LambdaAnswer {
  const { headers, cookies } = headOf(response);
  const text = textOf(response, bytes);
  const answer = {
    statusCode: response.status,
    ...(httpEvent?.kind === "alb" ? { statusDescription: `${response.status} ${response.statusText || "-"}` } : {}),
    ...headersFor(httpEvent, headers, cookies),
    body: text ?? Buffer.from(bytes).toString("base64"),
    isBase64Encoded: text === undefined,
  };
  const max = answerMax(httpEvent);
  // Most answers are so short that their encoded length need not be computed.
  if (bytes.byteLength * ESCAPED_MAX > max / 2 && Buffer.byteLength(JSON.stringify(answer)) > max) throw tooLarge(max);
  return answer;
}

function headersFor(httpEvent: HttpEvent | undefined, headers: Readonly<Record<string, string>>, cookies: readonly string[]) {
  const last = cookies.at(-1);
  switch (httpEvent?.kind) {
    case "rest":
      return { headers, ...(last === undefined ? {} : { multiValueHeaders: { "set-cookie": cookies } }) };
    case "alb": {
      if (!httpEvent.multiValue) return { headers: last === undefined ? headers : { ...headers, "set-cookie": last } };
      const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
      return { multiValueHeaders: last === undefined ? lists : { ...lists, "set-cookie": cookies } };
    }
    default:
      return { headers, ...(last === undefined ? {} : { cookies }) };
  }
}

function textOf({ headers }: Response, bytes: Uint8Array): string | undefined {
  if (bytes.byteLength === 0) return "";
  if (headers.has("content-encoding") || !TEXT.test(headers.get("content-type") ?? "")) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
