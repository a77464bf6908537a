/** The flags of the data plane that `mgw run` and `mgw dataplane` share: the limits of calls, pings and CORS. */
import type { Command } from 'commander';
import type { CallOptions } from '../programs/dataplane.ts';
import { flag, parseBytes, parseCount, parseDays, parseOrigins, parseSeconds } from './options.ts';

/** The flags, parsed. */
export interface CallFlags {
  readonly maxBody: number;
  readonly maxBuffered?: number;
  readonly maxRunningJobs: number;
  readonly maxConversations: number;
  readonly maxConversationBytes: number;
  /** 0: none are kept. */
  readonly storeResponsesDays: number;
  readonly storeResponsesBytes: number;
  readonly pingAfter: number;
  readonly corsOrigins?: readonly string[];
}

export function addCallFlags(command: Command): Command {
  return command
    .addOption(
      flag('--max-body <SIZE>', 'largest request body')
        .default(64 * 2 ** 20, '64MiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag(
        '--max-buffered <SIZE>',
        'what all request bodies together may hold at a time; a call beyond it ' +
          'is refused with 503 (default: 256MiB, or two of the largest bodies)',
      ).argParser(parseBytes),
    )
    .addOption(
      flag(
        '--max-running-jobs <NUMBER>',
        'the most videos, background responses and batches of one key that may run at a time',
      )
        .default(500)
        .argParser(parseCount),
    )
    .addOption(
      flag('--max-conversations <NUMBER>', 'the most conversations that one account may keep at providers')
        .default(100_000)
        .argParser(parseCount),
    )
    .addOption(
      flag('--max-conversation-bytes <SIZE>', 'the most bytes of them, such as 512MiB')
        .default(1024 ** 3, '1GiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag(
        '--store-responses-days <DAYS>',
        'how long conversations, and responses whose provider stores none, are kept, encrypted; 0: never',
      )
        .default(0)
        .argParser(parseDays),
    )
    .addOption(
      flag('--store-responses-bytes <SIZE>', 'the most bytes of them that one account may have')
        .default(64 * 2 ** 20, '64MiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag('--ping-after <SECONDS>', 'a stream without a byte for this long gets a ping; 0: never')
        .default(10)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--cors-origins <ORIGINS>',
        'origins whose pages may call from a browser, separated by commas; * for any (default: none)',
      ).argParser(parseOrigins),
    );
}

export function callOptions(flags: CallFlags): CallOptions {
  const { maxBody, maxBuffered, maxRunningJobs, maxConversations, maxConversationBytes, pingAfter, corsOrigins } =
    flags;
  return {
    maxBodyBytes: maxBody,
    ...(maxBuffered !== undefined && { maxBufferedBytes: maxBuffered }),
    maxRunningJobs,
    conversationLimits: { count: maxConversations, bytes: maxConversationBytes },
    pingAfterMs: pingAfter * 1000,
    ...(corsOrigins && { corsOrigins }),
  };
}
