const SIGNS = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;

/** Whether text has only what a URI is written with (RFC 3986, 2): clients that read URIs write another otherwise, which is then not found. */
export function hasUriSigns(text: string): boolean {
  return SIGNS.test(text);
}
