/**
 * The usage of a response that is too large to hold: providers write it before or after everything else, so both ends
 * are searched for an object of that name.
 */
import { readUsage as readAnthropic, toReportedUsage as reportAnthropic } from './anthropic/usage.ts';
import { asBuffer } from './bytes.ts';
import type { ChatDialect } from './call-facts.ts';
import type { Meter, ReportedUsage } from './converter.ts';
import type { JsonRecord } from './fields.ts';
import { readObjectAt } from './read-object.ts';
import { readUsage as readOpenai, toReportedUsage as reportOpenai } from './openai/usage.ts';
import { UNREPORTED_USAGE } from './usage.ts';

const NAME = '"usage"';
const BACKSLASH = 0x5c;
const COLON = 0x3a;

export interface ResponseEnds {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** The size of the whole response in bytes, for an estimate. */
  readonly size: number;
}

/** Never throws: usage that cannot be found counts as not reported. */
export function readUsageAtEnds(upstream: ChatDialect, { head, tail, size }: ResponseEnds): Meter {
  const report =
    upstream === 'Anthropic'
      ? (usage: JsonRecord) => reportAnthropic(readAnthropic(usage))
      : (usage: JsonRecord) => reportOpenai(readOpenai(usage));
  for (const end of [tail, head]) {
    const reported = findUsage(end, report);
    if (reported) return { reported, final: reported.output !== undefined, outputBytes: size };
  }
  return { reported: UNREPORTED_USAGE, final: false, outputBytes: size };
}

/** The last object of that name with any tokens in it. Within a string the name's quote has a backslash before it. */
function findUsage(bytes: Uint8Array, report: (usage: JsonRecord) => ReportedUsage): ReportedUsage | undefined {
  const text = asBuffer(bytes);
  for (let at = text.lastIndexOf(NAME); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(NAME, at - 1)) {
    const usage = text[at - 1] === BACKSLASH ? undefined : objectAfter(text, at + NAME.length);
    const reported = usage && report(usage);
    if (reported && (reported.input ?? reported.output) !== undefined) return reported;
  }
  return undefined;
}

function objectAfter(text: Buffer, from: number): JsonRecord | undefined {
  const colon = text.indexOf(COLON, from);
  if (colon < 0 || text.toString('latin1', from, colon).trim() !== '') return undefined;
  return readObjectAt(text, colon + 1);
}
