/**
 * What keeps a stream alive while its provider is silent, in the form that clients of each dialect ignore and that
 * counts as a sign of life for them.
 */
import type { Dialect } from './call-facts.ts';

export type PingForm = Dialect | 'Responses';

const COMMENT = Buffer.from(': ping\n\n');
const ANTHROPIC = Buffer.from('event: ping\ndata: {"type":"ping"}\n\n');
/** Codex drops comments before its timer sees them; OpenAI's own API sends events of this type. */
const RESPONSES = Buffer.from('event: keepalive\ndata: {"type":"keepalive"}\n\n');
/** Google's SDKs take anything but whole data events for a broken stream, and content without a part for a bad one. */
const GOOGLE = Buffer.from('data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}]}\n\n');

/** `begun`: the client has got an event of the response. OpenAI's SDKs refuse any other one before the first. */
export function pingOf(form: PingForm, begun: boolean): Uint8Array {
  switch (form) {
    case 'OpenAI':
      return COMMENT;
    case 'Responses':
      return begun ? RESPONSES : COMMENT;
    case 'Anthropic':
      return ANTHROPIC;
    case 'Gemini':
      return GOOGLE;
  }
}
