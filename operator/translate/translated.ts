/**
 * [P] The result of translating an object: a message for the snapshot, if it is accepted, and its findings. FieldReader
 * collects invalid values: schema and CEL admit none, but objects may be older than both.
 */
import { isTimeZone } from '#snapshot/time-zone.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import type { Findings } from '../status/findings.ts';

/** One object, translated. */
export interface Translated<Message> {
  /** Absent: the object is left out of the snapshot. */
  readonly message?: Message;
  readonly findings: Findings;
}

/**
 * Parses the fields of one object and collects all faults, so that it is refused with all of them at once.
 */
export class FieldReader {
  readonly #faults: string[] = [];

  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Reads a decimal string as billionths. */
  decimal(path: string, text: string): bigint {
    const value = parseDecimal(text);
    if (value === undefined) this.#faults.push(`${path} is not a decimal`);
    return value ?? 0n;
  }

  /** Reads an RFC 3339 time as milliseconds since the epoch. */
  time(path: string, text: string): bigint {
    const ms = Date.parse(text);
    if (!Number.isNaN(ms)) return BigInt(ms);
    this.#faults.push(`${path} is not a time`);
    return 0n;
  }

  /** Adds a fault if the condition does not hold. */
  expect(holds: boolean, fault: string): void {
    if (!holds) this.#faults.push(fault);
  }
}

/** A name may be well formed, and yet in no database. */
export function expectTimeZone(fields: FieldReader, path: string, timeZone: string): void {
  fields.expect(
    isTimeZone(timeZone),
    `${path} "${timeZone}" is not a time zone of the IANA database, such as Europe/Berlin`,
  );
}

/** Findings of an object with fields that cannot be used, or that cannot be read. */
export function refuseInvalid<Message>(
  findings: Findings,
  faults: readonly string[],
  reason: 'Invalid' | 'TooManyObjects' | 'Deleting' = 'Invalid',
): Translated<Message> {
  return { findings: { ...findings, refused: { reason, message: `${faults.join('; ')}.` } } };
}
