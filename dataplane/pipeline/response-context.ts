/** What the conversion of a response must know of its call. */
import type { ResponseContext } from '../protocol/converter.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';
import type { Answered, PipelineDeps } from './context.ts';
import { sealingContext } from './sealing-context.ts';

/** Undefined: the gateway was given no sealing key. */
export function responseSealing({ state }: PipelineDeps, { admitted }: Answered): SealingContext | undefined {
  const {
    candidate,
    routed: {
      key,
      continuesImages = false,
      call: { bringsImages = false },
    },
  } = admitted;
  const images = continuesImages || (bringsImages && candidate.model.acceptsImages);
  return sealingContext(state.get(), key, candidate, images);
}

export function responseContext(deps: PipelineDeps, answered: Answered): ResponseContext {
  const {
    admitted: {
      routed: {
        received,
        call: { model },
      },
      bounds,
    },
    notes,
    response: { headers },
  } = answered;
  const contentType = headers['content-type'];
  const sealing = responseSealing(deps, answered);
  return {
    id: received.requestId,
    model,
    createdSeconds: Math.floor(received.createdMs / 1000),
    nowSeconds: () => Math.floor(deps.clock.nowMs() / 1000),
    estimatedInputTokens: bounds.estimatedInputTokens,
    ...(notes && { notes }),
    ...(contentType !== undefined && { contentType }),
    seal: sealing && createChannelSeal(sealing),
  };
}
