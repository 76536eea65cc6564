// Owns: the address of a Restate server and the secret of a cluster, as commands are given them. Does not own: connecting to it.
import { readFileSync } from "node:fs";
import { stripBom } from "../../core/contract/internal.ts";
import { usage } from "../command-error.ts";
import { whyUnreadable } from "../files.ts";

/** The URLs of the ingress and the admin API of a Restate server or cluster, without a slash at the end. */
export interface EngineAddress {
  readonly ingress: string;
  readonly admin: string;
}

const INGRESS_PORT = 8080;
const ADMIN_PORT = 9070;
const EXAMPLE = "restate://127.0.0.1:8080, restates:// for HTTPS, with ?admin=http://127.0.0.1:9070 where the admin API is elsewhere";

const invalid = (why: string): Error => usage(`--engine takes ${EXAMPLE}; ${why}.`);

/**
 * Parses `restate://host[:port][?admin=url]`. Default ports: 8080, and for the admin API 9070 at the same host and by the same protocol.
 * `restates://` means HTTPS. Throws `USAGE` for anything else, and for credentials, which would end up in logs.
 */
export const parseEngine = (text: string): EngineAddress => {
  const match = /^(restates?):\/\/([^/?#\s]+)\/?(?:\?(.*))?$/i.exec(text);
  if (match === null) throw invalid(`"${text}" is no such address`);
  const [, scheme = "", authority = "", query = ""] = match;
  const protocol = scheme.toLowerCase() === "restates" ? "https:" : "http:";
  if (authority.includes("@")) throw invalid("it takes no credentials: keep the server on a private network");
  const at = parsed(`${protocol}//${authority}`);
  if (at === undefined || at.hostname === "") throw invalid(`"${authority}" is no host[:port]`);
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => name !== "admin");
  if (unknown !== undefined) throw invalid(`"${unknown}" is not known`);
  const [admin, second] = parameters.getAll("admin");
  if (second !== undefined) throw invalid("admin is given twice");
  return {
    // The URL parser drops an explicit :80, the protocol's default; it must not become 8080.
    ingress: base(at, /:\d+$/.test(authority) ? undefined : INGRESS_PORT),
    admin: admin === undefined ? base(at, ADMIN_PORT) : adminAt(admin),
  };
};

/** In the form of `--engine`. */
export const engineText = ({ ingress, admin }: EngineAddress): string => `${ingress.replace(/^http/, "restate")}?admin=${admin}`;

const adminAt = (text: string): string => {
  const url = parsed(text);
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) throw invalid(`admin "${text}" is no http URL`);
  if (url.username !== "" || url.password !== "") throw invalid("admin takes no credentials: keep the server on a private network");
  if (url.search !== "" || url.hash !== "") throw invalid(`admin "${text}" has more than an address`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
};

const parsed = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

const base = (url: URL, port: number | undefined): string => (port === undefined ? url.origin : `${url.protocol}//${url.hostname}:${port}`);

const VARIABLE = "TROUPE_CLUSTER_SECRET";
const MAKE_ONE = 'make one with "openssl rand -hex 32"';

/** 32 bytes or more, written as hex digits in `TROUPE_CLUSTER_SECRET` or a file: what the nodes of a cluster share. Throws `USAGE` if there is none. */
export const clusterSecret = (env: Readonly<Record<string, string | undefined>>, file: string | undefined): Uint8Array => {
  const text = file === undefined ? env[VARIABLE] : read(file);
  if (text === undefined || text.trim() === "")
    throw usage(`The nodes of a cluster share a secret: set ${VARIABLE}, or name a file with --secret-file; ${MAKE_ONE}.`);
  const digits = text.trim();
  if (!/^(?:[0-9a-fA-F]{2}){32,1024}$/.test(digits)) throw usage(`The cluster's secret is at least 64 hex digits: ${MAKE_ONE}.`);
  return Buffer.from(digits, "hex");
};

/** The same for commands that may not need it: undefined if neither the variable nor a file is given. */
export const clusterSecretIfAny = (env: Readonly<Record<string, string | undefined>>, file: string | undefined): Uint8Array | undefined =>
  file === undefined && (env[VARIABLE] ?? "").trim() === "" ? undefined : clusterSecret(env, file);

const read = (file: string): string => {
  try {
    return stripBom(readFileSync(file, "utf8"));
  } catch (error) {
    throw usage(`--secret-file ${file} cannot be read: ${whyUnreadable(error)}.`);
  }
};
