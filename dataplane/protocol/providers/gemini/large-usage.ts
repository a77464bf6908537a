/** Meters a whole response of Google's that is too large to hold: its own `usageMetadata`, and the size of the rest. */
import type { LargeMeter, Meter } from '../../converter.ts';
import type { JsonRecord } from '../../fields.ts';
import { OutputSize } from '../../output-tally.ts';
import { TopMembers } from '../../top-members.ts';

const USAGE_MEMBERS: ReadonlySet<string> = new Set(['usageMetadata']);

/** `meter`: of the members that count, and of the bytes that have come, where a picture counts as usual. */
export function meterLarge(meter: (response: JsonRecord, outputBytes: number) => Meter): LargeMeter {
  const members = new TopMembers(USAGE_MEMBERS);
  const output = new OutputSize();
  return {
    add: (piece) => {
      members.add(piece);
      output.add(piece);
    },
    get meter() {
      return meter(members.found, output.bytes);
    },
  };
}
