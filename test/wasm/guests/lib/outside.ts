import { area, utf8, putBytes } from "../../../../examples/wasm/lib/abi";
import { environmentExists, environmentGetVar, environmentListVars, httpSendHttp } from "../../../../examples/wasm/lib/imports";
import { http, option, pairs } from "./replies";
import { at, encodedLast, encodedNext, Words } from "./words";

/** Empty where there is no such function. */
export function environment(name: string, words: Words): string {
  const back = area(16);
  if (name == "get-var") {
    const variable = encodedLast(words);
    environmentGetVar(at(variable), variable.byteLength, back);
    return option(back);
  }
  if (name == "list-vars") {
    environmentListVars(back);
    return pairs(back);
  }
  if (name == "exists") {
    const variable = encodedLast(words);
    return environmentExists(at(variable), variable.byteLength) != 0 ? "ok true" : "ok false";
  }
  return "";
}

/** send-http <method> <uri> [body], with the header `x-from: guest`. */
export function httpClient(name: string, words: Words): string {
  if (name != "send-http") return "";
  const method = encodedNext(words);
  const uri = encodedNext(words);
  const body = encodedLast(words);
  const headers = area(16);
  putBytes(headers, utf8("x-from"));
  putBytes(headers + 8, utf8("guest"));
  const back = area(32);
  httpSendHttp(
    at(method),
    method.byteLength,
    at(uri),
    uri.byteLength,
    headers,
    1,
    body.byteLength == 0 ? 0 : 1,
    at(body),
    body.byteLength,
    back,
  );
  return http(back);
}
