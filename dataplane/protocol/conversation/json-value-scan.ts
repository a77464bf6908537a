/** Finds where a JSON value ends while its text comes in pieces. */

/** What follows a number or a literal. */
const AFTER_VALUE = ', \t\r\n';

type Place = 'Within' | 'Last' | 'After';

/** Scans one value, from its first character on. */
export class JsonValueScan {
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** The length of the value's part of this piece; undefined: the value does not end in it. */
  endIn(piece: string): number | undefined {
    for (let at = 0; at < piece.length; at++) {
      const place = this.#inString ? this.#stepInString(piece.charAt(at)) : this.#step(piece.charAt(at));
      if (place !== 'Within') return place === 'Last' ? at + 1 : at;
    }
    return undefined;
  }

  #stepInString(character: string): Place {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') {
      this.#inString = false;
      return this.#depth === 0 ? 'Last' : 'Within';
    }
    return 'Within';
  }

  #step(character: string): Place {
    switch (character) {
      case '"':
        this.#inString = true;
        return 'Within';
      case '{':
      case '[':
        this.#depth++;
        return 'Within';
      case '}':
      case ']':
        if (this.#depth === 0) return 'After';
        return --this.#depth === 0 ? 'Last' : 'Within';
      default:
        return this.#depth === 0 && AFTER_VALUE.includes(character) ? 'After' : 'Within';
    }
  }
}
