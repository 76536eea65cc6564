// The hostile requests of cost-search.ts, by shape and place.

type Text = (bytes: number) => string;

const times = (bytes: number, piece: (n: number) => string, separator = ","): string => {
  const pieces: string[] = [];
  for (let length = 0, n = 0; length < bytes; n += 1) {
    const one = piece(n);
    pieces.push(one);
    length += one.length + separator.length;
  }
  return pieces.join(separator);
};

/** JSON values of about the given number of bytes. */
export const SHAPES: Readonly<Record<string, Text>> = {
  keys: (bytes) => `{${times(bytes, (n) => `"k${n}":0`)}}`,
  "number keys": (bytes) => `{${times(bytes, (n) => `"${n}":0`)}}`,
  "sparse number keys": (bytes) => `{${times(bytes, (n) => `"${(n * 7_919) % 4_294_967_291}":0`)}}`,
  "equal keys": (bytes) => `{${times(bytes, () => '"":0')}}`,
  "objects of many keys": (bytes) => `[${times(bytes, (m) => `{${times(Math.min(bytes, 60_000), (n) => `"k${m}_${n}":0`)}}`)}]`,
  "long keys": (bytes) => `{${times(bytes, (n) => `"${n}${"k".repeat(1_000)}":0`)}}`,
  numbers: (bytes) => `[${times(bytes, () => "0")}]`,
  floats: (bytes) => `[${times(bytes, (n) => `${n}.123456789e-7`)}]`,
  "empty objects": (bytes) => `[${times(bytes, () => "{}")}]`,
  "empty lists": (bytes) => `[${times(bytes, () => "[]")}]`,
  "small objects": (bytes) => `[${times(bytes, (n) => `{"a":${n}}`)}]`,
  "short texts": (bytes) => `[${times(bytes, () => '""')}]`,
  deep: (bytes) => `[${times(bytes, () => `${"[".repeat(50)}${"]".repeat(50)}`)}]`,
  "deep objects": (bytes) => `[${times(bytes, () => `${'{"a":'.repeat(50)}0${"}".repeat(50)}`)}]`,
  "too deep": (bytes) => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`,
  "long text": (bytes) => `"${"x".repeat(bytes)}"`,
  "escaped text": (bytes) => `"${'\\"'.repeat(bytes / 2)}"`,
  "unicode escapes": (bytes) => `"${"\\u00e9".repeat(bytes / 6)}"`,
  "unpaired surrogates": (bytes) => `"${"\\ud800".repeat(bytes / 6)}"`,
  slashes: (bytes) => `"${"/%41".repeat(bytes / 4)}"`,
  "long number": (bytes) => "1".repeat(bytes),
  "white space": (bytes) => `[${" ".repeat(bytes)}0]`,
  prototypes: (bytes) => `{${times(bytes, (n) => `"__proto__":{"constructor":{"prototype":${n}}}`)}}`,
};

const MODERN =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"cost","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}';

const request = (method: string, params: string, meta = MODERN): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}${params === "" ? "" : ","}"_meta":{${meta}}}}`;

/** MCP requests with a hostile value. */
export const MCP_PLACES: Readonly<Record<string, (value: string) => string>> = {
  "unknown argument": (value) => request("tools/call", `"name":"add","arguments":{"by":1,"junk":${value}}`),
  "known argument": (value) => request("tools/call", `"name":"add","arguments":{"by":${value}}`),
  arguments: (value) => request("tools/call", `"name":"add","arguments":${value}`),
  params: (value) => request("tools/list", `"junk":${value}`),
  _meta: (value) => request("tools/list", "", `${MODERN},"junk":${value}`),
  progressToken: (value) => request("tools/call", '"name":"add"', `${MODERN},"progressToken":${value}`),
  baggage: (value) => request("tools/call", '"name":"add"', `${MODERN},"baggage":${value}`),
  capabilities: (value) =>
    request("tools/list", "", MODERN.replace('Capabilities":{}', `Capabilities":{"extensions":${value.replaceAll("$", "$$$$")}}`)),
  "tool name": (value) => request("tools/call", `"name":${value}`),
  uri: (value) => request("resources/read", `"uri":${value}`),
  "subscribed uris": (value) => request("subscriptions/listen", `"notifications":{"resourceSubscriptions":${value}}`),
  cursor: (value) => request("tools/list", `"cursor":${value}`),
  completion: (value) =>
    request(
      "completion/complete",
      `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":${value}},"context":{"arguments":${value}}`,
    ),
  requestState: (value) => request("tools/call", `"name":"add","requestState":${value},"inputResponses":${value}`),
  id: (value) => `{"jsonrpc":"2.0","id":${value},"method":"tools/list","params":{"_meta":{${MODERN}}}}`,
  method: (value) => `{"jsonrpc":"2.0","id":1,"method":${value},"params":{"_meta":{${MODERN}}}}`,
  batch: (value) => `[${value}]`,
  nothing: (value) => value,
};

/** Packets with a hostile value. */
export const PACKET_PLACES: Readonly<Record<string, (value: string) => string>> = {
  payload: (value) => `{"version":"1.0","type":"capability_request","capability_id":"counter","payload":{"tool":"add","junk":${value}}}`,
  context: (value) => `{"version":"1.0","type":"capability_request","capability_id":"counter","payload":{},"context":{"junk":${value}}}`,
  capability_id: (value) => `{"version":"1.0","type":"capability_request","capability_id":${value}}`,
  actor_id: (value) => `{"version":"1.0","type":"actor_message","capability_id":"counter","actor_id":${value}}`,
  cancel: (value) => `{"version":"1.0","type":"cancel","payload":{"id":${value}}}`,
  metadata: (value) => `{"version":"1.0","type":"heartbeat","metadata":${value}}`,
  mcp_request: (value) => `{"version":"1.0","type":"mcp_request","payload":{"mcp_message":${request("tools/list", `"junk":${value}`)}}}`,
  nothing: (value) => value,
};

/** Headers of an HTTP request, each within the limit of the server. */
export const HEADERS: Readonly<Record<string, readonly string[]>> = {
  "many headers": Array.from({ length: 90 }, (_, n) => `x-${n}: ${"a".repeat(100)}`),
  "long Accept": [`accept: ${"text/a;q=0.1,".repeat(1_000)}*/*`],
  "long Authorization": [`authorization: Bearer ${"a.".repeat(5_000)}`],
  "long session id": [`mcp-session-id: ${"a".repeat(12_000)}`],
  "long Origin": [`origin: http://${"a.".repeat(5_000)}`],
  "long Last-Event-ID": [`last-event-id: ${"1.".repeat(5_000)}`],
  "long Mcp-Name": [`mcp-name: =?base64?${"QUFB".repeat(3_000)}?=`],
  "long cookie": [`cookie: ${"a=b; ".repeat(2_500)}`],
};
