/** Files that a decoder may play, and of which the gateway cannot tell how long it does: they are refused. */
import { RequestFault } from '../call-facts.ts';

/** `why`: what the file has. */
export function unreadableAudio(why: string): RequestFault {
  return new RequestFault('invalid_request', `The audio file has ${why}. Encode it anew.`, 'file');
}
