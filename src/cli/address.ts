import { usage } from "./exit-code.ts";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `3000`, `127.0.0.1:3000`, `[::1]:3000`, `localhost:0`. Port 0 picks a free one. */
export const parseHostPort = (text: string, option: string): HostPort => {
  const match = /^(?:(\[[0-9A-Fa-f:.]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535)
    throw usage(`${option} takes [host:]port with a port from 0 to 65535, such as 127.0.0.1:3000, not "${text}".`);
  const host = match[1]?.replace(/^\[|\]$/g, "") ?? "127.0.0.1";
  return { host, port };
};

/** A TCP address, or the path of a Unix socket (it has a slash or ends in `.sock`). */
export const parseTcp = (text: string, option: string): HostPort | { readonly path: string } =>
  text.includes("/") || text.endsWith(".sock") ? { path: text } : parseHostPort(text, option);
