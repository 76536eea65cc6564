/** Text from a user's file, without the byte order mark that Windows tools put first (RFC 8259, 8.1 lets a reader skip it). */
export const withoutBom = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text);
