/** Errors of platforms that refuse a request before its protocol's own server has read it. */
import { readConverseError } from '../converse/errors.ts';
import type { Provider } from '../provider.ts';
import type { PlatformPlan } from './platform-request.ts';

/** The reader of a channel's error responses. Bedrock's own errors come with any of its protocols. */
export function errorReaderOf(
  platform: PlatformPlan['platform'] | undefined, { readError }: Provider,
): Provider['readError'] {
  return platform === 'BedrockInvoke' ? readConverseError : readError;
}
