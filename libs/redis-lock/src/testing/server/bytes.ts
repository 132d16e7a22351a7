const BEYOND_ASCII = /[^\0-\x7f]/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The UTF-8 bytes of a text, each as one character. */
export function bytesOf(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  return Array.from(encoder.encode(text), (byte) => String.fromCharCode(byte)).join('');
}

export function textOfBytes(bytes: string): string {
  if (!BEYOND_ASCII.test(bytes)) return bytes;
  return decoder.decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}
