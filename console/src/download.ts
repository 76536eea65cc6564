// Owns: saving what a page shows as a file.

export const download = (name: string, value: unknown): void => saveFile(name, JSON.stringify(value, undefined, 2), "application/json");

export function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
