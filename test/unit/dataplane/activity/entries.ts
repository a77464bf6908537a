/** Support: entries of activity. */
import type { ActivityEntry } from '#activity/activity.ts';

export const NOON_MS = Date.UTC(2026, 10, 21, 12);

export function refusedEntry(callId: string, more: Partial<ActivityEntry> = {}): ActivityEntry {
  return {
    callId,
    keyUid: 'u1',
    account: 'team-a/main',
    atMs: NOON_MS,
    refused: true,
    endpoint: 'messages',
    stream: false,
    httpStatus: 429,
    errorCode: 'insufficient_quota',
    message: 'This key has used up its quota.',
    durationMs: 2,
    attempts: [],
    ...more,
  };
}

export function servedEntry(callId: string, more: Partial<ActivityEntry> = {}): ActivityEntry {
  return {
    callId,
    keyUid: 'u1',
    account: 'team-a/main',
    atMs: NOON_MS,
    refused: false,
    endpoint: 'messages',
    stream: true,
    model: 'claude-sonnet-4-5',
    httpStatus: 200,
    durationMs: 2_340,
    firstByteMs: 410,
    attempts: [
      { channel: 'openai/a', outcome: 'status_529', durationMs: 120 },
      {
        channel: 'anthropic/direct',
        outcome: 'ok',
        durationMs: 2_200,
      },
    ],
    ...more,
  };
}
