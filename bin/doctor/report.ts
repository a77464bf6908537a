/** What `mgw doctor` prints: what the probes may cost, and a table or JSON of what they found. */
import { textTable } from '../text-table.ts';
import { isFault } from './diagnose.ts';
import type { Plan } from './plan.ts';
import { countsTokens } from './probe.ts';
import type { ProbeResult } from './probe.ts';

const HEADS = ['CHANNEL', 'MODEL', 'ASKED', 'RESULT', 'DETAILS'] as const;

export function describeCosts({ probes, skipped }: Plan): string {
  const counts = probes.filter(countsTokens).length;
  const calls = probes.length - counts;
  return [
    `Sends ${probes.length} ${probes.length === 1 ? 'request' : 'requests'}: ${counts} to count tokens, which ` +
      'is free (or a call if the model cannot count),',
    `and ${calls} ${calls === 1 ? 'call' : 'calls'} with about ten tokens of input and one of output, which ` +
      'the providers charge.',
    ...(skipped.length > 0 ? [`Skipped, because they have no chat model: ${skipped.join(', ')}.`] : []),
  ].join('\n');
}

/** `missing`: what the operator says of channels that are left out for lack of a Secret. */
export function writeTable(outcomes: readonly ProbeResult[], missing: readonly string[]): string {
  const rows = outcomes.map(({ probe, asked, problem = 'ok', message }) => [
    probe.channel,
    probe.model.name,
    asked.toLowerCase(),
    problem,
    message,
  ]);
  return [...textTable([HEADS, ...rows]), ...missing].join('\n');
}

export function writeReport(outcomes: readonly ProbeResult[], missing: readonly string[]): string {
  return JSON.stringify(
    {
      channels: outcomes.map(({ probe, asked, problem, message }) => ({
        channel: probe.channel,
        model: probe.model.name,
        upstreamModel: probe.upstreamModel,
        asked,
        problem: problem ?? null,
        message,
      })),
      missing,
    },
    undefined,
    2,
  );
}

export function hasFaults(outcomes: readonly ProbeResult[], missing: readonly string[]): boolean {
  return missing.length > 0 || outcomes.some(isFault);
}
