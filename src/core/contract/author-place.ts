// Owns: finding an author's own line in a stack. Does not own: what is reported with it.

const FRAME = /^ +at (?:.* \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^\n()]+:\d+:\d+)\)?$/gm;
/** Troupe's own files, whether it runs from its sources or is installed. A function, since a bundle for browsers has no such URL. */
const ownFiles = (): string => decodeURI(new URL("../..", import.meta.url).href.replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, ""));

function isForeign(place: string): boolean {
  const path = place.replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, "").replaceAll("\\", "/");
  return path.includes("/node_modules/") || path.startsWith(ownFiles());
}

/** The first line of the stack in the author's own files, as in `/path/shop.ts:3:7`; else the first of all. */
export function authorPlace({ stack = "", message }: Error): string | undefined {
  // The stack begins with the message, which may look like a stack itself.
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const places = Array.from(frames.matchAll(FRAME), ([, place = ""]) => place);
  return places.find((place) => !isForeign(place)) ?? places[0];
}
