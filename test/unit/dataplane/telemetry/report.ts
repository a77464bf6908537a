/** Support: the report of a successful streamed call, with a test's changes. */
import type { AttemptReport, CallReport } from '../../../../dataplane/telemetry/call-report.ts';

export function attemptOf(outcome: string, channel = 'openai/direct'): AttemptReport {
  return { channel, protocol: 'OpenAI', outcome, durationMs: 500 };
}

export function reportOf(changes: Partial<CallReport> = {}): CallReport {
  return {
    requestId: 'req_1',
    endpoint: 'chat_completions',
    dialect: 'OpenAI',
    stream: true,
    httpStatus: 200,
    errorCode: undefined,
    key: { uid: 'u1', namespace: 'team-a', name: 'ci-bot', prefix: 'sk-abcd', account: 'team-a/team-a' },
    model: 'gpt-5',
    group: 'auto-a',
    attempts: [attemptOf('ok')],
    billing: {
      channel: 'openai/direct',
      status: 'Succeeded',
      usageSource: 'Provider',
      tokens: { input: 1000, cached: 200, cacheWrite5m: 30, cacheWrite1h: 4, output: 101 },
      costNanoUsd: 33_750_000n,
      unbilledNanoUsd: 0n,
    },
    timedOut: false,
    durationMs: 1500.12345,
    firstByteMs: 500,
    ...changes,
  };
}
