import instructor
from openai import OpenAI
from pydantic import BaseModel, Field
from harness import KEY, OPENAI, check, run


class Person(BaseModel):
    name: str = Field(min_length=2)
    age: int = Field(ge=18)


def scenario(model):
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS_STRICT):
        client = instructor.from_openai(OpenAI(base_url=OPENAI, api_key=KEY, max_retries=0), mode=mode)
        person = client.chat.completions.create(
            model=model, response_model=Person, max_retries=0, messages=[{"role": "user", "content": "hello"}])
        check(person.age >= 18, f"a person in mode {mode}")


run(scenario)
