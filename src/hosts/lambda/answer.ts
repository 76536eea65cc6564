import type { Arrived } from "./arrived.ts";
import { headOf } from "./head.ts";
import { LambdaRefusal } from "./refusal.ts";

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
/** A byte is at most so many in JSON text: a control character is `\u0000`. */
const ESCAPED_MAX = 6;

const TEXT = /^(?:text\/|application\/(?:json|javascript|xml|x-www-form-urlencoded|[^;]*\+(?:json|xml))\s*(?:;|$))/i;

export const answerMax = (arrived: Arrived | undefined): number => ANSWER_MAX[arrived?.kind ?? "http"];

export const tooLarge = (max: number): LambdaRefusal =>
  new LambdaRefusal(
    "ANSWER_TOO_LARGE",
    `A buffered answer may have ${max / MIB} MiB: answer less at once, or stream (streamingHandler). What was asked may have been done.`,
  );

/** Throws `ANSWER_TOO_LARGE`. */
export function answerOf(response: Response, bytes: Uint8Array, arrived: Arrived | undefined): LambdaAnswer {
  const { headers, cookies } = headOf(response);
  const text = textOf(response, bytes);
  const answer = {
    statusCode: response.status,
    ...(arrived?.kind === "alb" ? { statusDescription: `${response.status} ${response.statusText || "-"}` } : {}),
    ...headersFor(arrived, headers, cookies),
    body: text ?? Buffer.from(bytes).toString("base64"),
    isBase64Encoded: text === undefined,
  };
  const max = answerMax(arrived);
  // Most are so short that nobody need count how long they become.
  if (bytes.byteLength * ESCAPED_MAX > max / 2 && Buffer.byteLength(JSON.stringify(answer)) > max) throw tooLarge(max);
  return answer;
}

function headersFor(arrived: Arrived | undefined, headers: Readonly<Record<string, string>>, cookies: readonly string[]) {
  const last = cookies.at(-1);
  switch (arrived?.kind) {
    case "rest":
      return { headers, ...(last === undefined ? {} : { multiValueHeaders: { "set-cookie": cookies } }) };
    case "alb": {
      if (!arrived.multiValue) return { headers: last === undefined ? headers : { ...headers, "set-cookie": last } };
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
