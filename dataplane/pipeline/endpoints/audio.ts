/** Speech, and audio that is written down or translated: by models of the kinds Speech and Transcriptions. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { boundSpeechInput, estimateSpeechInput } from '../../protocol/openai/speech-facts.ts';
import { boundTranscriptionInput, estimateTranscriptionInput } from '../../protocol/openai/transcription-facts.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Endpoint } from './endpoint.ts';
import { jsonOrForm } from './json-or-form.ts';
import type { FormFacts } from './json-or-form.ts';
import { checkPassthrough } from './passthrough.ts';
import { outputOfModelLimit } from '../context.ts';

/** What is no audio: an error, or a page. */
const NO_AUDIO = /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]*json|[\w.+-]*xml)\b)/i;
/** Some models transcribe without a stream, whatever the request says. */
const NO_EVENTS = /^(?!text\/event-stream|$)/i;

export const SPEECH: Endpoint<BodyFacts['Speech']> = {
  kind: 'Speech',
  read: ({ body }) => body.facts('Speech'),
  asks: ({ model, events, characters, imageParam }) => ({
    model,
    stream: true,
    output: outputOfModelLimit(1),
    made: { characters },
    imageParam,
    modalities: imageParam === undefined ? ['audioOutput'] : ['audioOutput', 'imageInput'],
    streamsBytes: !events,
    wholeTypes: NO_AUDIO,
  }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundSpeechInput(facts, model),
  estimateInput: (facts, { model }) => estimateSpeechInput(facts, model),
  unbounded: ({ costFields }) => costFields.length > 0,
  converter: (facts, { target }) => providerOf(target.protocol).endpoints?.speech?.(facts),
};

/** What both have in common. */
const ANY_TRANSCRIPTIONS: Omit<Endpoint<FormFacts<'Transcriptions'>>, 'read' | 'converter'> = {
  kind: 'Transcriptions',
  asks: ({ model, stream, seconds, likelySeconds, referenceSeconds, chunks, imageParam }) => ({
    model,
    stream,
    output: outputOfModelLimit(chunks),
    made: { seconds: seconds + chunks * referenceSeconds },
    likely: { seconds: likelySeconds },
    imageParam,
    modalities: imageParam === undefined ? ['audioInput'] : ['audioInput', 'imageInput'],
    wholeTypes: NO_EVENTS,
  }),
  check: checkPassthrough,
  boundInput: (facts, { model }) => boundTranscriptionInput(facts, model),
  estimateInput: (facts, { model }) => estimateTranscriptionInput(facts, model),
  unbounded: ({ costFields, unbounded }) => costFields.length > 0 || unbounded.length > 0,
};

export const TRANSCRIPTIONS: Endpoint<FormFacts<'Transcriptions'>> = {
  ...ANY_TRANSCRIPTIONS,
  read: jsonOrForm('Transcriptions'),
  converter: (facts, { target }) => providerOf(target.protocol).endpoints?.transcriptions?.(facts),
};

export const TRANSLATIONS: Endpoint<FormFacts<'Translations'>> = {
  ...ANY_TRANSCRIPTIONS,
  read: jsonOrForm('Translations'),
  converter: (facts, { target }) => providerOf(target.protocol).endpoints?.translations?.(facts),
};
