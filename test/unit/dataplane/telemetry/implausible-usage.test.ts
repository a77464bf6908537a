/** Which implausible usage the ModelRoute's owner hears of. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import type { CallTelemetry, JobEnd, LateBilling } from '../../../../dataplane/telemetry/call-report.ts';
import { watchImplausibleUsage, type UsageWarning } from '../../../../dataplane/telemetry/implausible-usage.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { UsageSource } from '#usage/record.ts';

const SILENT: CallTelemetry = {
  finished: () => undefined,
  jobEnded: () => undefined,
  responded: () => undefined,
  billedLate: () => undefined,
  ledger: () => undefined,
};

function ended(channel: string, usageSource: UsageSource): LateBilling & JobEnd {
  const billing = {
    channel,
    status: 'Succeeded',
    tokens: NO_TOKENS,
    usageSource,
    costNanoUsd: 0n,
    unbilledNanoUsd: 0n,
  } as const;
  return { requestId: 'r', jobId: 'j', model: 'm', group: 'g', channel, end: 'Completed', billing };
}

it('warns of the fifth such call of a channel within ten minutes, of calls and jobs alike', () => {
  const warnings: UsageWarning[] = [];
  let nowMs = 0;
  const watched = watchImplausibleUsage(SILENT, {
    clock: { monotonicMs: () => nowMs },
    warn: (warning) => void warnings.push(warning),
  });
  for (let count = 0; count < 4; count++) {
    watched.billedLate(ended('openai/direct', 'Implausible'));
    watched.billedLate(ended('openai/direct', 'Provider'));
    watched.billedLate(ended('openai/other', 'Implausible'));
  }
  nowMs = 600_000;
  watched.billedLate(ended('openai/direct', 'Implausible'));
  assert.deepEqual(warnings, [], 'the first four were ten minutes ago');
  for (let count = 0; count < 4; count++) watched.jobEnded(ended('openai/direct', 'Implausible'));
  assert.deepEqual(warnings, [{ route: 'openai', channel: 'direct', status: 200 }]);
});
