"""What `import proxsdca` costs, beside the imports that it needs anyway."""


def timeraw_import() -> str:
    return "import proxsdca"


def timeraw_import_dependencies() -> str:
    return "import numpy, scipy.sparse"
