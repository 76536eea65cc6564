/**
 * jco generates a module. A module could import whatever Node has, is loaded later, and is never given back: as a
 * function's body it can do none of that.
 */
export function asBody(module: string): string {
  const body = module.replace(/^export (?=function instantiate\(|const _util = )/gm, "");
  return `${body}\nreturn instantiate;`;
}
