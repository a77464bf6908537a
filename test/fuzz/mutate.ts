/** Mutates valid bytes: flips, losses, duplicates, splices, and words of a dictionary. */
import type { Random } from './random.ts';

type Dictionary = readonly (string | Uint8Array)[];

/** Bytes that parsers of any kind stumble over. */
const ODD_BYTES: readonly number[] = [
  0x00, 0x01, 0x09, 0x0a, 0x0b, 0x0d, 0x20, 0x22, 0x25, 0x2c, 0x3a, 0x3b, 0x5c, 0x7f, 0x80, 0xc0, 0xe2, 0xed, 0xf0,
  0xfe, 0xff,
];
const ODD_NUMBERS: readonly string[] = [
  '-1',
  '0',
  '1',
  '00',
  '+5',
  '0x10',
  '1e3',
  '1e308',
  '1e999',
  '-0',
  '9007199254740993',
  '18446744073709551616',
  '999999999999999999999',
  '4294967296',
  '2147483648',
  '1.5',
  ' 7',
  'NaN',
];

/** Between one and a few mutations; the shorter the input, the fewer. */
export function mutate(bytes: Uint8Array, random: Random, dictionary: Dictionary = []): Buffer {
  let mutated: Buffer = Buffer.from(bytes);
  for (let left = 1 + random.int(random.chance(0.2) ? 8 : 3); left > 0; left--)
    mutated = mutateOnce(mutated, random, dictionary);
  return mutated;
}

function mutateOnce(bytes: Buffer, random: Random, dictionary: Dictionary): Buffer {
  const at = random.int(bytes.length + 1);
  const length = Math.min(bytes.length - at, 1 + random.int(random.chance(0.2) ? 200 : 8));
  switch (random.int(dictionary.length > 0 ? 10 : 8)) {
    case 0:
      return replace(bytes, at, Math.min(1, bytes.length - at), Buffer.of(random.int(256)));
    case 1:
      return replace(bytes, at, Math.min(1, bytes.length - at), Buffer.of(random.pick(ODD_BYTES)));
    case 2:
      return replace(bytes, at, 0, Buffer.of(random.pick(ODD_BYTES)));
    case 3:
      return replace(bytes, at, length, Buffer.alloc(0));
    case 4:
      return replace(bytes, at, 0, bytes.subarray(at, at + length));
    case 5:
      return replace(bytes, at, length, swapCase(bytes.subarray(at, at + length)));
    case 6:
      return mutateNumber(bytes, random);
    case 7:
      return mutateLine(bytes, random);
    default:
      return replace(
        bytes,
        random.chance(0.5) ? lineStart(bytes, at) : at,
        random.chance(0.5) ? 0 : length,
        Buffer.from(random.pick(dictionary) as string),
      );
  }
}

export function replace(bytes: Uint8Array, at: number, length: number, by: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + length)]);
}

function swapCase(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (/[A-Za-z]/.test(String.fromCharCode(byte)) ? byte ^ 0x20 : byte)));
}

function mutateNumber(bytes: Buffer, random: Random): Buffer {
  const numbers = [...bytes.toString('latin1').matchAll(/\d+/g)];
  if (numbers.length === 0) return bytes;
  const { index, 0: digits } = random.pick(numbers);
  return replace(bytes, index, digits.length, Buffer.from(random.pick(ODD_NUMBERS)));
}

/** Duplicates, removes or moves a line. */
function mutateLine(bytes: Buffer, random: Random): Buffer {
  const lines = bytes.toString('latin1').split('\n');
  const from = random.int(lines.length);
  const [line = ''] = random.chance(0.5) ? lines.splice(from, 1) : [lines[from]];
  if (random.chance(0.7)) lines.splice(random.int(lines.length + 1), 0, line);
  return Buffer.from(lines.join('\n'), 'latin1');
}

function lineStart(bytes: Buffer, at: number): number {
  return at === 0 ? 0 : bytes.lastIndexOf(0x0a, at - 1) + 1;
}

/** The same bytes, cut into pieces that are sent one after another. */
export function pieces(bytes: Buffer, random: Random): Buffer[] {
  if (bytes.length === 0 || random.chance(0.5)) return [bytes];
  const cuts = Array.from({ length: 1 + random.int(4) }, () => random.int(bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...cuts]
    .map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
    .filter((piece) => piece.length > 0);
}
