// What the document of AppTheory's first MCP server promises, and what its tests hold, each with the tests that show it here.
import type { Requirement } from "../requirements.ts";

const snippets = "the document's snippets, under ${profile} ›";
const document = "the document's server, under apptheory ›";
const profile = "the dialect apptheory ›";
const mounted = "mounted with ${name} ›";
const registries = "a server's registries ›";
const streaming = "a tool that tells while it runs, by ${name} ›";
const client = "the test client, ${era} ›";
const initialized = `${snippets} initialize tells the server's name and version, the revision, and tools, resources and prompts where there are some`;
const capabilities = `${profile} answers initialize with its only revision and with what it offers besides tools`;
const echo = `${snippets} the echo tool is listed and called`;
const hello = `${snippets} the hello resource is listed and read`;
const greet = `${snippets} the greet prompt is listed and rendered`;
const blocks = `${snippets} the five kinds of content block and structured content are what the document writes`;
const codes = `${document} each kind of error has its code, over 200, and a session`;
const ids = `${document} no two sessions have one id, and a known one is kept`;
const formats = `${document} the format is the client's: events for a tool's call that accepts them, with raw text line by line, JSON for all else`;
const inBatches = `${document} a batch is answered in order, also where it begins with initialize; a bad element or none is one parse error`;
const byteForByte = "a tool that tells while it runs, by a listener › has its first step on the wire, byte for byte, before it goes on";
const lambdaStreams = "a streaming function › bytes reach the official client ${which.sdk}, ${which.era}, before the handler ends, ${kind}";
const lambdaBuffers =
  'a function behind ${name} › the official client ${which.sdk}, ${which.era}, plays a session ${count === 1 ? "in one environment" : "with each call in another environment"}';
const twoTables = "the official client ${which.sdk} moves between two servers over the same tables";
const ttl = "a session's time to live is the option, else MCP_SESSION_TTL_MINUTES, else an hour";
const badTtl = "an invalid MCP_SESSION_TTL_MINUTES counts as 60 and is logged";
const builders = "requests as a client would make them are answered, with the ids they carry";
const assertions = "assertions hold, or say what there is instead";
const everything = `${client} meets all a source offers, initialized by whatever comes first`;
const lifecycle = "a session is what initialize begins, in the revision it negotiates, until it is ended or over";
const replayed = "a reply that one server began is replayed and followed by a second, and its tail is there after its end";

/** The document, sentence by sentence. */
const sentences: readonly Requirement[] = [
  {
    id: "apptheory.surface",
    says: "The document describes methods, registries, shapes, sessions and streaming of one server, which are all here",
    tests: [initialized, echo, hello, greet, formats, ids],
  },
  {
    id: "apptheory.agentcore",
    says: "Who integrates with AgentCore has a page of its own: what to deploy, and how tools are called",
    tests: [
      "the guide's instructions › for AgentCore it listens without a key, and accepts unknown session ids",
      "a container of AgentCore Runtime › the official client ${which.sdk}, ${which.era}, plays through a platform that adds its headers",
    ],
  },
  // Transport and endpoint
  { id: "apptheory.transport.http", says: "The server is a handler of JSON-RPC 2.0 over HTTP", tests: [codes, echo] },
  {
    id: "apptheory.transport.post",
    says: "Requests are POSTs to a path the application chooses, usually /mcp, on a route of its own",
    tests: [`${mounted} \${who} lists, calls, reads and prompts`],
  },
  {
    id: "apptheory.transport.body",
    says: "A body is JSON: jsonrpc 2.0, id, method, params",
    tests: [`${snippets} every answer is of JSON-RPC 2.0, has the request's id, and a result or an error`, codes],
  },
  {
    id: "apptheory.transport.session",
    says: "The session's header is mcp-session-id, issued where the client sends none",
    tests: [`${profile} names the session in every answer, also to a malformed message`, ids],
  },
  {
    id: "apptheory.transport.mount",
    says: "It is mounted, not run on standard streams: newServer and a handler for one route",
    tests: [initialized, "each name the table maps to is imported from troupe/server, and none besides"],
  },
  { id: "apptheory.transport.revision", says: "The protocol's version is 2025-06-18", tests: [initialized, capabilities] },
  // Methods
  {
    id: "apptheory.methods",
    says: "initialize, tools/list, tools/call, resources/list, resources/read, prompts/list and prompts/get are dispatched",
    tests: [initialized, echo, hello, greet, codes],
  },
  { id: "apptheory.capabilities.tools", says: "initialize always advertises tools", tests: [capabilities] },
  {
    id: "apptheory.capabilities.some",
    says: "Resources and prompts are advertised, as empty objects, only where one is registered",
    tests: [capabilities, "resources of text, bytes and several parts; templates are listed, and what only they would fit is not found"],
  },
  {
    id: "apptheory.capabilities.stable",
    says: "Clients of tools alone see nothing else, and those of more see all of it",
    tests: [capabilities, everything],
  },
  // Tools
  {
    id: "apptheory.tools.register",
    says: "A tool is registered with name, description, input schema and a handler of its arguments (the first snippet)",
    tests: [echo, "echo: a tool of a JSON Schema, listed word for word"],
  },
  { id: "apptheory.tools.text", says: "A text block is type and text", tests: [blocks] },
  { id: "apptheory.tools.image", says: "An image block is type, data in base64 and mimeType", tests: [blocks] },
  { id: "apptheory.tools.audio", says: "An audio block is type, data in base64 and mimeType", tests: [blocks] },
  { id: "apptheory.tools.link", says: "A resource_link block is type, uri and name", tests: [blocks] },
  { id: "apptheory.tools.embedded", says: "An embedded resource is type and resource, with uri and text", tests: [blocks] },
  { id: "apptheory.tools.structured", says: "Structured output beside the blocks is structuredContent", tests: [blocks] },
  // Streaming
  {
    id: "apptheory.streaming.accept",
    says: "A tools/call that accepts text/event-stream is answered by an event stream",
    tests: [formats],
  },
  {
    id: "apptheory.streaming.events",
    says: "What the tool emits is an event: progress, the final response an event: message",
    tests: [formats, `${streaming} says events of progress and the message by their names in the profile apptheory, \${how}`],
  },
  {
    id: "apptheory.streaming.register",
    says: "A streaming tool emits while it works, and returns its result (the second snippet)",
    tests: [formats, "long_task: what is emitted arrives while the task waits for its client to have seen it"],
  },
  {
    id: "apptheory.streaming.adapter",
    says: "Behind an API Gateway REST API events arrive as they are emitted, by response streaming",
    tests: [lambdaStreams],
  },
  {
    id: "apptheory.streaming.buffered",
    says: "Behind an adapter that buffers, clients are answered when the tool has ended",
    tests: [lambdaBuffers],
  },
  // Resources
  {
    id: "apptheory.resources.register",
    says: "A resource has a URI, a name, a mimeType and a handler (the third snippet)",
    tests: [hello],
  },
  {
    id: "apptheory.resources.contents",
    says: "A handler returns one or more contents: uri with text, or with a blob in base64, and mimeType where it has one",
    tests: [hello, "resources of text, bytes and several parts; templates are listed, and what only they would fit is not found"],
  },
  { id: "apptheory.resources.methods", says: "resources/list has resources, resources/read has contents", tests: [hello] },
  // Prompts
  {
    id: "apptheory.prompts.register",
    says: "A prompt has a name, a description, arguments and a handler of messages (the fourth snippet)",
    tests: [greet],
  },
  { id: "apptheory.prompts.methods", says: "prompts/list has prompts, prompts/get a description and messages", tests: [greet] },
  // Sessions
  { id: "apptheory.sessions.issued", says: "Without a session's id the server issues one and returns it", tests: [ids] },
  { id: "apptheory.sessions.ttl", says: "MCP_SESSION_TTL_MINUTES is their time to live, by default 60", tests: [ttl, badTtl] },
  {
    id: "apptheory.sessions.store",
    says: "They are in memory by default, and in DynamoDB where they shall survive a cold start",
    tests: [twoTables, lambdaBuffers],
  },
  // Testing
  {
    id: "apptheory.testing",
    says: "A deterministic client in process initializes and lists tools without a cloud (the last snippet)",
    tests: [everything, `${client} the same test twice gives the same bytes`],
  },
];

/** What its authors' own tests hold. */
const properties: readonly Requirement[] = [
  {
    id: "apptheory.properties.response",
    says: "Each response is of JSON-RPC 2.0 with the request's id, and a result or an error",
    tests: [`${snippets} every answer is of JSON-RPC 2.0, has the request's id, and a result or an error`],
  },
  {
    id: "apptheory.properties.definitions",
    says: "A definition that is registered is listed as it was written",
    tests: [`${snippets} definitions are listed as they were registered, in that order, whatever is taken away meanwhile`],
  },
  {
    id: "apptheory.properties.duplicates",
    says: "A name that is taken is refused",
    tests: [`${registries} refuse a used or invalid name and a used URI, and change nothing then`],
  },
  {
    id: "apptheory.properties.order",
    says: "Lists are in the order of registration",
    tests: [`${registries} count items, list them in order of registration, and unregister them`],
  },
  {
    id: "apptheory.properties.codes",
    says: "Garbage is -32700, an unknown method -32601, what is wrong with params or not there -32602",
    tests: [codes],
  },
  {
    id: "apptheory.properties.handlers",
    says: "What a handler throws is -32000 with its message, and one that takes too long is named",
    tests: [codes, `${document} a tool that takes too long is named`],
  },
  { id: "apptheory.properties.ids", says: "No two sessions have one id", tests: [ids] },
  {
    id: "apptheory.properties.store",
    says: "A session is got from its store as it was put, and not once it was deleted",
    tests: ["a session is got as it was put, also by another process", "a deleted session is not there"],
  },
  { id: "apptheory.properties.format", says: "The response's format is what Accept says", tests: [formats] },
  { id: "apptheory.properties.batch", says: "A batch is answered in order, and a bad element refuses it", tests: [inBatches] },
  {
    id: "apptheory.properties.incremental",
    says: "Progress reaches the client before the tool has ended",
    tests: [byteForByte, "events of progress and the reply say their names, and come while the tool runs"],
  },
  {
    id: "apptheory.properties.official",
    says: "Official clients connect, notify and see the progress they asked for",
    tests: [
      "the official client ${which.sdk}, ${which.era}, sees the progress it asked for under apptheory",
      `${document} what a client says after initialize, and a ping, are taken as MCP has them`,
    ],
  },
  {
    id: "apptheory.properties.dynamo",
    says: "DynamoDB's sessions are named by MCP_SESSION_TABLE, got, put, deleted, and over when they are over",
    tests: [
      "the tables › are named by the options, else MCP_SESSION_TABLE and MCP_STREAM_TABLE, else mcp-sessions",
      "a session in DynamoDB › expires by whole seconds a tenth more than its time after it was last touched, and is gone before DynamoDB deletes it",
    ],
  },
  {
    id: "apptheory.properties.testkit",
    says: "The kit's client keeps its session, lists, calls, reads and prompts; its builders and assertions do what they say",
    tests: [everything, builders, assertions],
  },
];

/** What later versions added, and is asked of `apptheory-v3`. */
const later: readonly Requirement[] = [
  {
    id: "apptheory.later.fixtures",
    says: "Its transcripts are answered as they are, and others of their kind by what they mean",
    tests: [
      "apptheory-v3 answers as ${name}",
      "tools of any name, ids of any kind: results, failures and what is wrong with a call",
      "2026-07-28 has no session: what it lacks is not there, what headers leave out is said",
      "who has no session yet may ask what is served, in the shape of sessions",
    ],
  },
  {
    id: "apptheory.later.runner",
    says: "npm run fixtures plays a directory, names what is about tasks and what is no transcript",
    tests: [
      "npm run fixtures plays a directory, a line for each file, and ends by what came out",
      "a handler nobody knows fails when it is called, and all else is played",
    ],
  },
  {
    id: "apptheory.later.cancel",
    says: "A request is cancelled by its id; unknown and completed ones are ignored",
    tests: ["a legacy reply › of a cancelled request is not sent, but its exchange ends", lifecycle],
  },
  { id: "apptheory.later.delete", says: "DELETE ends a session: 202, then 404; without a header 400", tests: [lifecycle] },
  { id: "apptheory.later.versions", says: "A header of another revision than the session's is refused", tests: [lifecycle] },
  {
    id: "apptheory.later.headers",
    says: "Content-Type and Accept are required, with wildcards and q=0 as HTTP has them",
    tests: [lifecycle],
  },
  {
    id: "apptheory.later.errors",
    says: "What is no message has no id, and what is wrong with the exchange is plain JSON",
    tests: ["what is no message is a parse error without an id, and what is no response is refused in plain JSON"],
  },
  {
    id: "apptheory.later.batches",
    says: "Batches are of 2025-03-26",
    tests: ["batches are of 2025-03-26: in order, without replies to notifications, and refused whole"],
  },
  {
    id: "apptheory.later.streams",
    says: "A stream is primed, resumed by Last-Event-ID from another instance too, and unknown events are refused",
    tests: [
      "a tool that tells its steps is answered by events, also where no progress was asked for; unknown events are refused",
      replayed,
      "what was sent, in DynamoDB › after its session was deleted is refused, from whichever process",
      "what was sent, in DynamoDB › is numbered through all streams of a session, from either process",
    ],
  },
  {
    id: "apptheory.later.origin",
    says: "Pages of origins that are not allowed are refused",
    tests: ["a server mounted in an application › refuses unknown hosts and foreign origins, unless they are allowed"],
  },
];

/** A server in an application: frameworks, callers, what surrounds handlers. */
const server: readonly Requirement[] = [
  {
    id: "server.frameworks",
    says: "Express, Fastify, Hono and node:http are driven by official clients in both eras, streaming included",
    tests: [`${mounted} \${who} lists, calls, reads and prompts`, `${mounted} \${who} sees what a tool emits while the tool runs`],
  },
  {
    id: "server.frameworks.edges",
    says: "Bodies too large or read already, clients that leave and errors on a kept connection are stood everywhere",
    tests: [
      "mounted with ${name}, when things go wrong › a body that is too large is refused, and the next one is read",
      "mounted with ${name}, when things go wrong › the official client ${which.sdk}, ${which.era}, leaves in the middle of a call, which hears of it",
      "a connection goes on after errors, mounted with ${name}",
      "a body somebody else has read is asked for, and taken where it is handed on",
    ],
  },
  {
    id: "server.callers",
    says: "Who calls reaches handlers, and scopes of a tool are challenged so that official clients step up",
    tests: [
      "the official client ${which.sdk}, ${which.era}, signs in, and steps up for the tool that takes more",
      "in the ${era} era › a tool's scopes are refused with 403 and a challenge that names them, what is held and where to go",
      "in the ${era} era › with keys alone there is nowhere to go, and the challenge says what lacks",
      "where there is no HTTP, a scope that lacks is an error that names it",
    ],
  },
  {
    id: "server.arguments",
    says: "Arguments that do not fit are answered by their fields' names",
    tests: ["${era}: every field that does not fit is named, however deep, and the handler has not run"],
  },
  {
    id: "server.around",
    says: "Middleware logs, counts, caches and limits in a few lines; onError and the log have the run's id",
    tests: [
      "calls are logged with their time, and counted with their failures",
      "results are kept a while, for each principal apart",
      "a principal that calls too often is refused, no other is",
      "a handler's error is reported to onError and the log, refusals and aborted runs are not",
    ],
  },
  {
    id: "server.sdk",
    says: "Servers of the official SDK, v1 and v2, are mounted: clients of both eras get the answers they get directly",
    tests: [
      "a server of SDK ${sdk}, a client of ${which.sdk}, ${which.era} › answers alike directly and ${name}",
      "a server of SDK ${sdk}, a client of ${which.sdk}, ${which.era} › tells progress and what changes ${name}",
      "a server of SDK ${sdk}, a client of ${which.sdk}, ${which.era} › cancels ${name}",
      "${sdk}: what is otherwise than directly is what the guide says",
      "one server is shared by all; of a factory each principal has its own",
      "one that never answers: connecting, lists and calls each end in their time",
      "servers of both SDKs fit the emitted declarations, which name neither",
      "the guide to migrating: its code is part of the examples, which are tested",
    ],
  },
];

export const apptheory: readonly Requirement[] = [...sentences, ...properties, ...later, ...server];
