/**
 * node:http, without `import`: that asks a built-in module for all it exports, and of this one a client of WebSockets and
 * what fetches would be loaded, an eighth of a start that loads all doors.
 */
export const { createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule("node:http");
