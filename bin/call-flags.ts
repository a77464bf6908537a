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
      flag('--max-body <SIZE>', 'maximum size of a request body')
        .default(64 * 2 ** 20, '64MiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag(
        '--max-buffered <SIZE>',
        'memory for all request bodies together; a call that exceeds it is refused with 503 (default: 256MiB, ' +
          'or twice --max-body if that is more)',
      ).argParser(parseBytes),
    )
    .addOption(
      flag(
        '--max-running-jobs <NUMBER>',
        'maximum number of videos, background responses and batches that one key may run at the same time',
      )
        .default(500)
        .argParser(parseCount),
    )
    .addOption(
      flag('--max-conversations <NUMBER>', 'maximum number of conversations that one account may store at providers')
        .default(100_000)
        .argParser(parseCount),
    )
    .addOption(
      flag(
        '--max-conversation-bytes <SIZE>',
        'maximum size of all conversations that one account stores at providers, such as 512MiB',
      )
        .default(1024 ** 3, '1GiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag(
        '--store-responses-days <DAYS>',
        'days to store conversations, and responses that the provider does not store, encrypted in the ' +
          'gateway; 0 stores none',
      )
        .default(0)
        .argParser(parseDays),
    )
    .addOption(
      flag(
        '--store-responses-bytes <SIZE>',
        'maximum size of all responses and conversations that the gateway stores for one account',
      )
        .default(64 * 2 ** 20, '64MiB')
        .argParser(parseBytes),
    )
    .addOption(
      flag('--ping-after <SECONDS>', 'seconds of silence after which a stream gets a ping; 0 sends none')
        .default(10)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--cors-origins <ORIGINS>',
        'comma-separated origins that may call from a browser (CORS); * allows all (default: none)',
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
