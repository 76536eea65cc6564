export { type MessageTransport, overPort, type PagePort, type PortTransport } from "./message-transport.ts";
export { type Embedded, type EmbedOptions, serve } from "./serve.ts";
