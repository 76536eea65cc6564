/** What the function itself answers, where no server was asked or none answered in time. The sentence says what to do instead. */
export const REFUSALS = {
  BAD_EVENT: 400,
  NOT_AUTHORIZED: 401,
  HOST_UNKNOWN: 403,
  NO_STREAMS: 405,
  ANSWER_TOO_LARGE: 500,
  FUNCTION_FAILED: 500,
  FUNCTION_DEADLINE: 504,
} as const;

export type LambdaRefusalCode = keyof typeof REFUSALS;

/** Thrown on the way of an event; answered as JSON: `{ error: code, message }`. */
export class LambdaRefusal extends Error {
  override readonly name = "LambdaRefusal";
  readonly code: LambdaRefusalCode;

  constructor(code: LambdaRefusalCode, message: string) {
    super(message);
    this.code = code;
  }

  response(): Response {
    const headers = { "content-type": "application/json", ...(this.code === "NO_STREAMS" ? { allow: "POST, DELETE, OPTIONS" } : {}) };
    return new Response(JSON.stringify({ error: this.code, message: this.message }), { status: REFUSALS[this.code], headers });
  }
}

export const badEvent = (message: string): LambdaRefusal => new LambdaRefusal("BAD_EVENT", message);
