/**
 * [P] Finds plain scalars that kubectl takes for another value than they look like. kubectl reads YAML 1.1 with go-yaml:
 * `yes` is a boolean, `010` is 8 and `1_000` a number, while this gateway reads YAML 1.2. Neither is guessed: quoted or
 * written plainly, both agree.
 */
import { CORE_SCHEMA, EVENT_ID, SCALAR_STYLE, YAMLException, load, parseEvents } from 'js-yaml';

export interface Ambiguity {
  /** Where the scalar begins in the text. */
  readonly offset: number;
  /** Says what kubectl reads, and repeats nothing of the text, which may be a Secret's. */
  readonly message: string;
}

/** go-yaml's further names of booleans. */
const BOOLEAN = /^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$/;
/** What may be such a scalar; also within comments and texts, so that only some texts are looked through. */
const SUSPECT = /(?:^|[^\w"'])(?:y|yes|n|no|on|off|[-+]?0[\dbox_]\w*|[-+]?\d+_[\w.]*)(?![\w"'-])/im;

const BOOLEAN_MESSAGE =
  'a plain yes, no, on, off, y or n is a boolean for kubectl (YAML 1.1): put it in quotes, or write true or false';
const NUMBER_MESSAGE =
  'kubectl (YAML 1.1) reads another number here, because of a 0 at the beginning or a _ within: put it in quotes, or ' +
  'write the number in plain digits';

/** All such scalars of a text that is YAML. */
export function findAmbiguities(text: string): readonly Ambiguity[] {
  if (!SUSPECT.test(text)) return [];
  return eventsOf(text).flatMap((event) => {
    if (event.type !== EVENT_ID.SCALAR || event.style !== SCALAR_STYLE.PLAIN || event.tagStart >= 0) return [];
    const message = ambiguityOf(text.slice(event.valueStart, event.valueEnd));
    return message === undefined ? [] : [{ offset: event.valueStart, message }];
  });
}

function eventsOf(text: string): ReturnType<typeof parseEvents> {
  try {
    return parseEvents(text, {});
  } catch (error) {
    // whoever reads the values reports it
    if (error instanceof YAMLException) return [];
    throw error;
  }
}

function ambiguityOf(plain: string): string | undefined {
  if (BOOLEAN.test(plain)) return BOOLEAN_MESSAGE;
  if (!/^[-+\d]/.test(plain) || /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(plain)) return undefined;
  const ours: unknown = load(plain, { schema: CORE_SCHEMA });
  const theirs = numberOfGo(plain);
  return theirs === (typeof ours === 'number' ? ours : undefined) ? undefined : NUMBER_MESSAGE;
}

/** The number that go-yaml's resolver reads, with its own bases (strconv.ParseInt, base 0); undefined: a text. */
function numberOfGo(plain: string): number | undefined {
  const digits = plain.replaceAll('_', '');
  const [, sign = '', hex, binary, octal] = /^([-+]?)(?:0x([\da-f]+)|0b([01]+)|0o?([0-7]+))$/i.exec(digits) ?? [];
  const [text, base] = hex === undefined ? (binary === undefined ? [octal, 8] : [binary, 2]) : [hex, 16];
  if (text !== undefined) return (sign === '-' ? -1 : 1) * Number.parseInt(text, base);
  return /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(digits) ? Number(digits) : undefined;
}
