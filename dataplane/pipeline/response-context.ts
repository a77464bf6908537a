/** What the conversion of a response must know of its call. */
import type { ResponseContext } from '../protocol/converter.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { Answered, PipelineDeps } from './context.ts';
import { sealingContext } from './sealing-context.ts';

export function responseContext({ state }: PipelineDeps, { admitted, notes }: Answered): ResponseContext {
  const {
    candidate,
    routed: {
      key,
      received,
      continuesImages = false,
      call: { model, bringsImages = false },
    },
    bounds,
  } = admitted;
  const images = continuesImages || (bringsImages && candidate.model.acceptsImages);
  const sealing = sealingContext(state.get(), key, candidate, images);
  return {
    id: received.requestId,
    model,
    createdSeconds: Math.floor(received.createdMs / 1000),
    estimatedInputTokens: bounds.estimatedInputTokens,
    ...(notes && { notes }),
    seal: sealing && createChannelSeal(sealing),
  };
}
