import { area, putBytes, utf8 } from "../../../../examples/wasm/lib/abi";
import {
  filesystemExecuteCommand,
  filesystemReadFile,
  filesystemWriteFile,
  filesystemListFiles,
  filesystemDeleteFile,
  filesystemCreateDir,
  filesystemDeleteDir,
  filesystemPathExists,
  filesystemExecuteNixCommand,
} from "../../../../examples/wasm/lib/imports";
import { bool, command, listOfStrings, listed, unit } from "./replies";
import { at, encodedLast, encodedNext, Words } from "./words";

/** Empty where there is no such function. */
export function filesystem(name: string, words: Words): string {
  const back = area(64);
  if (name == "read-file") {
    const a = encodedLast(words);
    filesystemReadFile(at(a), a.byteLength, back);
    return listed(back);
  }
  if (name == "write-file") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    filesystemWriteFile(at(a), a.byteLength, at(b), b.byteLength, back);
    return unit(back);
  }
  if (name == "list-files") {
    const a = encodedLast(words);
    filesystemListFiles(at(a), a.byteLength, back);
    return listOfStrings(back);
  }
  if (name == "delete-file") {
    const a = encodedLast(words);
    filesystemDeleteFile(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "create-dir") {
    const a = encodedLast(words);
    filesystemCreateDir(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "delete-dir") {
    const a = encodedLast(words);
    filesystemDeleteDir(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "path-exists") {
    const a = encodedLast(words);
    filesystemPathExists(at(a), a.byteLength, back);
    return bool(back);
  }
  if (name == "execute-nix-command") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    filesystemExecuteNixCommand(at(a), a.byteLength, at(b), b.byteLength, back);
    return command(back);
  }
  // Directory, command, arguments.
  if (name == "execute-command") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const list = words.last().split(" ");
    const c = area(list.length * 8);
    for (let i = 0; i < list.length; i++) putBytes(c + i * 8, utf8(list[i]));
    filesystemExecuteCommand(at(a), a.byteLength, at(b), b.byteLength, c, list.length, back);
    return command(back);
  }
  return "";
}
