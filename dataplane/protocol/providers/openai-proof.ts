/**
 * The proof of OpenAI's reasoning: its encrypted content, which only the account that made it can read. The gateway
 * seals it with the channel on its way to the client, so that another channel leaves it out.
 */
import type { ReasoningProof } from '../conversation/reasoning.ts';
import { ENCRYPTED_CONTENT } from '../openai/response-seals.ts';
import { isSealed } from '../sealed-values.ts';
import type { ChannelSeal } from '../sealed-values.ts';

export interface EncryptedReasoning {
  readonly id: string;
  readonly content: string;
}

export function sealProof({ id, content }: EncryptedReasoning, seal: ChannelSeal | undefined): ReasoningProof {
  return { maker: 'OpenAI', id, encrypted: seal ? seal.seal(ENCRYPTED_CONTENT, content) : content };
}

/** The encrypted content; undefined: this channel did not make it. */
export function openProof(proof: ReasoningProof | undefined, seal: ChannelSeal | undefined): string | undefined {
  if (proof?.maker !== 'OpenAI') return undefined;
  const { encrypted } = proof;
  if (!isSealed(encrypted)) return encrypted;
  const opened = seal?.open(encrypted);
  return opened?.channel === seal?.channel && opened?.kind === ENCRYPTED_CONTENT ? opened.data : undefined;
}
