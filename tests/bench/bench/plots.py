def draw(results, folder):
    return False
